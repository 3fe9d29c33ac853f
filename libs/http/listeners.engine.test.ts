import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { notLinux } from '#test/platform'
import { startServer } from './server.ts'

const address = { host: '127.0.0.1', port: 0 }

test('accepts several connections per turn of the event loop', async ({ skip }) => {
  if (notLinux) return skip(notLinux)
  const server = await startServer(() => new Response('served'), address)
  const { port } = server.address()
  const clients = Array.from({ length: 160 }, () => connect(port, '127.0.0.1'))
  await Promise.all(clients.map((client) => once(client, 'connect')))
  let turns = 0
  while (server.connections() < clients.length) {
    await nextTurn()
    turns++
  }
  // One listening socket takes 160 turns, of which connecting already used some.
  expect(turns).toBeLessThan(60)
  for (const client of clients) client.destroy()
  server.close()
})

test('rejects when another process listens on the port', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const taken = other.address()
  const port = typeof taken === 'object' && taken ? taken.port : 0
  await expect(startServer(() => new Response(), { ...address, port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  other.close()

  const server = await startServer(() => new Response(), address)
  const again = startServer(() => new Response(), { host: '127.0.0.1', port: server.address().port })
  await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' })
  server.close()
})

test('two servers share a port, and one of them stops', async ({ skip }) => {
  if (notLinux) return skip(notLinux)
  const first = await startServer(() => new Response('first'), { ...address, isShared: true })
  const { port } = first.address()
  const second = await startServer(() => new Response('second'), { ...address, port, isShared: true })
  const answers = async () => {
    const requests = Array.from({ length: 64 }, async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
      return answer.text()
    })
    return new Set(await Promise.all(requests))
  }
  expect(await answers()).toEqual(new Set(['first', 'second']))
  await new Promise<void>((resolve) => first.close(resolve))
  expect(await answers()).toEqual(new Set(['second']))
  second.close()
})

test('calls back when all connections are closed', async () => {
  const server = await startServer(() => new Response('served'), address)
  const clients = Array.from({ length: 8 }, () => connect(server.address().port, '127.0.0.1'))
  for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await Promise.all(clients.map((client) => once(client, 'data')))
  const closed = new Promise<void>((resolve) => server.close(resolve))
  server.closeIdleConnections()
  await closed
  await expect.poll(() => server.connections()).toBe(0)
})
