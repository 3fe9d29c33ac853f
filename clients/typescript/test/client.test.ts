import type { ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { createClient, ProblemError } from '../src/index.ts'
import { answer, cut, startUnsteadyServer } from './unsteady-server.ts'

let server: Awaited<ReturnType<typeof startUnsteadyServer>>
afterEach(() => server.close())

const waits: number[] = []
const connect = (attempts = 4) => {
  waits.length = 0
  const wait = async (ms: number) => void waits.push(ms)
  return createClient({ baseUrl: `${server.url}/`, key: 'flk_1', attempts, wait })
}

test('a POST is repeated with the same idempotency key and body until it succeeds', async () => {
  server = await startUnsteadyServer([cut, answer(503, {}, { 'retry-after': '2' }), answer(201, { id: '1' })])
  const organization = await connect().post('/orgs', { body: { name: 'Buses' } })
  expect(organization.id).toBe('1')
  expect(server.received).toHaveLength(3)
  expect(new Set(server.received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  expect(server.received.map(({ body }) => body)).toEqual(Array(3).fill('{"name":"Buses"}'))
  expect(server.received[0]?.headers.authorization).toBe('Bearer flk_1')
  expect(waits[1]).toBe(2_000)
})

test('two POSTs have different keys', async () => {
  server = await startUnsteadyServer([answer(201, {})])
  const client = connect()
  await client.post('/orgs', { body: { name: 'A' } })
  await client.post('/orgs', { body: { name: 'A' } })
  const [first, second] = server.received.map(({ headers }) => headers['idempotency-key'])
  expect(first).toMatch(/^[0-9a-f-]{36}$/)
  expect(second).not.toBe(first)
})

test('a problem document becomes an error', async () => {
  const problem = {
    type: 'about:blank',
    title: 'Forbidden',
    status: 403,
    detail: 'The quota of 5 is reached.',
    code: 'device_quota_exceeded',
    requestId: 'r-1',
    limit: 5,
  }
  server = await startUnsteadyServer([answer(403, problem)])
  const error = await connect()
    .get('/devices')
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ProblemError)
  expect(error).toMatchObject({
    status: 403,
    code: 'device_quota_exceeded',
    message: problem.detail,
    requestId: 'r-1',
    problem: { limit: 5 },
  })
  expect(server.received).toHaveLength(1)
})

test('the answer of a proxy that is not a problem document becomes an error too', async () => {
  server = await startUnsteadyServer([(response) => void response.writeHead(502).end('<html>Bad gateway</html>')])
  const error = await connect(2)
    .get('/devices')
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 502, code: 'unknown', message: 'The service returned status 502.' })
  expect(server.received).toHaveLength(2)
})

test('a list reads page after page with the same filter', async () => {
  const page = (serial: string, nextCursor: string | null) => answer(200, { items: [{ serial }], nextCursor })
  server = await startUnsteadyServer([page('A', 'next'), page('B', null)])
  const serials = []
  for await (const { serial } of connect().list('/devices', { params: { query: { tag: ['bus', 'night'] } } }))
    serials.push(serial)
  expect(serials).toEqual(['A', 'B'])
  expect(server.received.map(({ path }) => path)).toEqual([
    '/devices?tag=bus&tag=night',
    '/devices?tag=bus&tag=night&cursor=next',
  ])
})

test('waiting for a batch reports each change and ends when the signal aborts', async () => {
  const batch = (status: string, succeeded: number) => answer(200, { status, counts: { succeeded } })
  server = await startUnsteadyServer([
    batch('running', 0),
    batch('running', 0),
    batch('running', 1),
    batch('finished', 2),
  ])
  const seen: unknown[] = []
  const place = { organizationId: 'o', batchId: 'b' }
  const onProgress = ({ counts }: { counts: { succeeded?: number } }) => void seen.push(counts.succeeded)
  expect(await connect().waitForBatch({ ...place, onProgress })).toMatchObject({ status: 'finished' })
  expect(seen).toEqual([0, 1, 2])
  server.close()
  server = await startUnsteadyServer([batch('running', 0)])
  await expect(connect().waitForBatch({ ...place, signal: AbortSignal.timeout(50) })).rejects.toThrow(
    /aborted|timeout/i,
  )
})

test('a file is returned as bytes or as a stream', async () => {
  const bytes = Uint8Array.of(0x50, 0x41, 0x52, 0x31, 0xff)
  const file = (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/vnd.apache.parquet' }).end(bytes)
  server = await startUnsteadyServer([file])
  const params = { query: { format: 'parquet' as const } }
  const whole: ArrayBuffer = await connect().get('/fleet/trips', { params, parseAs: 'arrayBuffer' })
  expect(new Uint8Array(whole)).toEqual(bytes)
  const parts: ReadableStream<Uint8Array> = await connect().get('/fleet/dwells', { params, parseAs: 'stream' })
  expect(await new Response(parts as ReadableStream).bytes()).toEqual(bytes)
  expect(server.received.map(({ path }) => path)).toEqual([
    '/fleet/trips?format=parquet',
    '/fleet/dwells?format=parquet',
  ])
})
