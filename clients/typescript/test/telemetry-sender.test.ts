import { afterEach, expect, test } from 'vitest'
import { createTelemetrySender, type Rejection } from '../src/index.ts'
import { answer, cut, startUnsteadyServer } from './unsteady-server.ts'

let server: Awaited<ReturnType<typeof startUnsteadyServer>>
afterEach(() => server.close())

const accepted = answer(202, { accepted: 1, rejected: [], jobsPending: 0 })
const reports = () => server.received.map(({ body }) => JSON.parse(body))

test('a report keeps its id and samples until it is acknowledged, and samples get their time when they are added', async () => {
  server = await startUnsteadyServer([cut, answer(503, {}, { 'retry-after': '0' }), accepted])
  const errors: unknown[] = []
  const sender = createTelemetrySender({ baseUrl: server.url, token: 'fld_1', onError: (error) => errors.push(error) })
  sender.add({ kind: 'cellular', rsrpDbm: -97 })
  expect(sender.pending).toBe(1)
  await sender.close()
  expect(sender.pending).toBe(0)
  expect(errors).toHaveLength(2)
  expect(new Set(reports().map(({ batchId }) => batchId)).size).toBe(1)
  const [first, , last] = reports()
  expect(last.samples).toEqual(first.samples)
  expect(first.samples).toEqual([{ ts: expect.stringMatching(/Z$/), kind: 'cellular', rsrpDbm: -97 }])
  expect(server.received[0]).toMatchObject({
    method: 'POST',
    path: '/telemetry',
    headers: { authorization: 'Bearer fld_1' },
  })
})

test('reports have at most 500 samples, in the order in which they were added', async () => {
  server = await startUnsteadyServer([accepted])
  const sender = createTelemetrySender({ baseUrl: server.url, token: 'fld_1' })
  for (let uptimeS = 0; uptimeS < 1_200; uptimeS += 1) sender.add({ kind: 'system', uptimeS })
  await sender.flush()
  expect(reports().map(({ samples }) => samples.length)).toEqual([500, 500, 200])
  expect(reports().flatMap(({ samples }) => samples.map((sample: { uptimeS: number }) => sample.uptimeS))).toEqual(
    Array.from({ length: 1_200 }, (_, index) => index),
  )
  expect(new Set(reports().map(({ batchId }) => batchId)).size).toBe(3)
})

test('a report that can never be accepted is given up, and the next one is sent', async () => {
  const refused = answer(400, { status: 400, code: 'invalid_request', detail: 'The body is not JSON.' })
  const partly = answer(202, {
    accepted: 0,
    rejected: [{ index: 0, code: 'invalid_kind', detail: 'No such kind.' }],
    jobsPending: 0,
  })
  server = await startUnsteadyServer([refused, partly])
  const rejected: Rejection[] = []
  const sender = createTelemetrySender({
    baseUrl: server.url,
    token: 'fld_1',
    onRejected: (more) => rejected.push(...more),
  })
  sender.add({ kind: 'system', uptimeS: 1 })
  await sender.flush()
  sender.add({ kind: 'system', uptimeS: 2 })
  await sender.close()
  expect(rejected.map(({ code }) => code)).toEqual(['invalid_request', 'invalid_kind'])
})

test('a full buffer drops the oldest samples and says how many', async () => {
  server = await startUnsteadyServer([accepted])
  const dropped: number[] = []
  const sender = createTelemetrySender({
    baseUrl: server.url,
    token: 'fld_1',
    maxSamples: 2,
    onDropped: (count) => dropped.push(count),
  })
  for (const uptimeS of [1, 2, 3]) sender.add({ kind: 'system', uptimeS })
  await sender.close()
  expect(dropped).toEqual([1])
  expect(reports()[0].samples.map((sample: { uptimeS: number }) => sample.uptimeS)).toEqual([2, 3])
})

test('an abort ends the wait of a flush, and the samples stay', async () => {
  server = await startUnsteadyServer([answer(503, {})])
  const sender = createTelemetrySender({ baseUrl: server.url, token: 'fld_1' })
  sender.add({ kind: 'system', uptimeS: 1 })
  await expect(sender.close(AbortSignal.timeout(50))).rejects.toThrow(/aborted|timeout/i)
  expect(sender.pending).toBe(1)
  expect(() => sender.add({ kind: 'system', uptimeS: 2 })).toThrow('The sender is closed.')
})
