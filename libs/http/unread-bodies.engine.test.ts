import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { HttpServer } from './listeners.ts'
import { startServer } from './server.ts'

const mebibyte = 1024 ** 2
const upload = `POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: ${mebibyte}\r\n\r\n`

/** A server that responds to each request with 401 and does not read its body. */
async function refusingServer(): Promise<{ server: HttpServer; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>()
  const refuse = (_: Request, environment: { incoming: IncomingMessage }) => {
    sockets.add(environment.incoming.socket)
    return new Response('refused', { status: 401 })
  }
  const server = await startServer(refuse as never, { host: '127.0.0.1', port: 0 })
  return { server, sockets }
}

const answersIn = (text: string): number => text.split('HTTP/1.1 401').length - 1

async function untilAnswered(socket: Socket, answers: number): Promise<void> {
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (answersIn(text) >= answers) return
  }
  throw new Error(`The server closed the connection after ${answersIn(text)} answers.`)
}

test('a connection remains usable after an upload that was refused before it was read', async () => {
  const { server } = await refusingServer()
  const socket = connect(server.address().port, '127.0.0.1')
  for (let round = 0; round < 3; round++) {
    socket.write(upload)
    await untilAnswered(socket, 1)
    socket.write(Buffer.alloc(mebibyte))
  }
  socket.destroy()
  server.close()
})

test('refused uploads of many connections are read a few at a time', async () => {
  const { server, sockets } = await refusingServer()
  const clients = Array.from({ length: 100 }, () => connect(server.address().port, '127.0.0.1'))
  for (const client of clients) client.write(upload + 'x'.repeat(mebibyte))
  const bytesRead = () => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0)
  let mostInOneTurn = 0
  for (let before = 0; before < 100 * mebibyte; ) {
    await new Promise((resolve) => setImmediate(resolve))
    const now = bytesRead()
    // The first 64 KiB of each connection arrive with its head.
    mostInOneTurn = Math.max(mostInOneTurn, now - before)
    before = now
  }
  for (const client of clients) client.destroy()
  server.close()
  expect(mostInOneTurn).toBeLessThan(12 * mebibyte)
})

test('a connection that does not finish a refused upload is closed', async () => {
  const { server } = await refusingServer()
  const socket = connect(server.address().port, '127.0.0.1')
  socket.write(upload)
  await once(socket.resume(), 'end')
  socket.destroy()
  server.close()
}, 20_000)
