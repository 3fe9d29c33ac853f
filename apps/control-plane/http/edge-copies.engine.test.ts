import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import { startServer } from '#http/server'
import { startControlPlane } from '#test/control-plane'
import { routes } from '../routes.ts'
import { createApp } from './app.ts'

const closings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

type Copy = { url: string; bodies: string[]; server: Server }

/** A device edge that accepts every report, or answers it as given. */
async function startCopy(answer?: (request: IncomingMessage, response: ServerResponse) => void): Promise<Copy> {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    if (request.url === '/device/token') return response.writeHead(204).end()
    if (request.url === '/readyz') return response.writeHead(200).end()
    if (request.url === '/metrics') return response.end('# TYPE accepted counter\naccepted 1\n')
    bodies.push(Buffer.concat(await request.toArray()).toString())
    if (answer) answer(request, response)
    else response.writeHead(202, { 'content-type': 'application/json' }).end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closings.push(() => stop({ server }))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, server }
}

function stop({ server }: Pick<Copy, 'server'>): void {
  server.close()
  server.closeAllConnections()
}

/** A control plane that listens, before these copies of the device edge. */
async function startBefore(copies: readonly Copy[], environment: Record<string, string> = {}) {
  const api = await startControlPlane({ INGEST_URL: copies.map(({ url }) => url).join(','), ...environment })
  closings.push(api.close)
  const server = await startServer(createApp(routes, api.services).fetch, { host: '127.0.0.1', port: 0 })
  closings.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${server.address().port}`
  const report = async (token: string, body: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/telemetry`, { method: 'POST', headers, body })
    await answer.arrayBuffer()
    return answer
  }
  return { api, report }
}

const newTokens = (count: number) => Array.from({ length: count }, () => issueToken('fld').token)

test('a device keeps its copy of the device edge, and devices are spread over all copies', async () => {
  const copies = [await startCopy(), await startCopy()]
  const { report } = await startBefore(copies)
  const tokens = newTokens(32)
  for (const round of [1, 2]) {
    const answers = await Promise.all(tokens.map((token, index) => report(token, `{"of":${index},"round":${round}}`)))
    expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 202))
  }
  const devicesOf = ({ bodies }: Copy) => new Set(bodies.map((body) => JSON.parse(body).of as number))
  const [first, second] = copies.map(devicesOf)
  expect([first?.size, second?.size]).not.toContain(0)
  expect((first?.size ?? 0) + (second?.size ?? 0)).toBe(tokens.length)
})

test('reports go to the other copy while one does not accept connections', async () => {
  const [stopped, running] = [await startCopy(), await startCopy()]
  const { report } = await startBefore([stopped, running])
  const tokens = newTokens(16)
  await Promise.all(tokens.map((token) => report(token, '{}')))
  expect(stopped.bodies.length).toBeGreaterThan(0)
  const before = running.bodies.length
  stop(stopped)
  const answers = await Promise.all(tokens.map((token, index) => report(token, `{"again":${index}}`)))
  expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 202))
  expect(new Set(running.bodies.slice(before)).size).toBe(tokens.length)

  stop(running)
  const refused = await report(tokens[0] ?? '', '{}')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
})

test('a report that a copy may have accepted is not sent to another one', async () => {
  const copies = [
    await startCopy((request) => request.socket.destroy()),
    await startCopy((request) => request.socket.destroy()),
  ]
  const { report } = await startBefore(copies)
  for (const token of newTokens(8)) expect((await report(token, '{}')).status).toBe(503)
  expect(copies.flatMap(({ bodies }) => bodies)).toHaveLength(8)
})

test('/readyz needs one copy of each app, and /metrics names the copies', async () => {
  const [running, stopped, worker] = [await startCopy(), await startCopy(), await startCopy()]
  const { api } = await startBefore([running, stopped], { WORKER_URL: worker.url })
  stop(stopped)
  expect(await api.call('GET', '/readyz')).toMatchObject({
    status: 200,
    body: { checks: { ingest: 'ok', worker: 'ok' } },
  })
  const { body } = await api.call('GET', '/metrics', { token: api.platformKey })
  const copyOf = ({ url }: Copy) => new URL(url).host
  expect(body).toContain(`accepted{app="ingest",copy="${copyOf(running)}"} 1\n`)
  expect(body).toContain('accepted{app="worker"} 1\n')
  expect(body).toContain(`app_up{app="ingest",copy="${copyOf(running)}"} 1\n`)
  expect(body).toContain(`app_up{app="ingest",copy="${copyOf(stopped)}"} 0\n`)
})
