import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { notLinux } from '#test/platform'
import { startServer } from './server.ts'

const spin = (durationMs: number): void => {
  const endMs = performance.now() + durationMs
  while (performance.now() < endMs);
}

// Other systems have only one loopback address.
test('requests of one address delay another address by a few', async ({ skip }) => {
  if (notLinux) return skip(notLinux)
  const begun: string[] = []
  const server = await startServer(
    (request) => {
      begun.push(new URL(request.url).pathname)
      spin(2)
      return new Response('served')
    },
    { host: '0.0.0.0', port: 0 },
  )
  const open = async (path: string, localAddress: string) => {
    const socket = connect({ port: server.address().port, host: '127.0.0.1', localAddress })
    await once(socket, 'connect')
    return { socket, send: () => socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`) }
  }
  const many = await Promise.all(Array.from({ length: 200 }, () => open('/many', '127.0.0.1')))
  const one = await open('/one', '127.0.0.2')
  for (const { send } of many) send()
  one.send()
  await once(one.socket, 'data')
  expect(begun.indexOf('/one')).toBeLessThan(60)
  for (const { socket } of [...many, one]) socket.destroy()
  server.close()
})
