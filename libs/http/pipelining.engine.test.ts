import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { maxPipelined } from './pipelining.ts'
import { startServer } from './server.ts'

const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

/** Sends requests in one packet; returns the server's answers and how many were in progress at the same time. */
async function pipelined(paths: readonly string[]): Promise<{ text: string; begun: string[]; mostAtOnce: number }> {
  const begun: string[] = []
  let inProgress = 0
  let mostAtOnce = 0
  const server = await startServer(
    async (request) => {
      const { pathname } = new URL(request.url)
      begun.push(pathname)
      mostAtOnce = Math.max(mostAtOnce, ++inProgress)
      await new Promise((resolve) => setImmediate(resolve))
      inProgress--
      const headers = pathname === '/last' ? { connection: 'close' } : {}
      return new Response(`answer ${pathname}\n`, { headers })
    },
    { host: '127.0.0.1', port: 0 },
  )
  const socket = connect(server.address().port, '127.0.0.1')
  socket.write(paths.map(head).join(''))
  const text = (await socket.toArray()).map(String).join('')
  server.close()
  return { text, begun, mostAtOnce }
}

const answersIn = (text: string): string[] => [...text.matchAll(/answer (\S+)/g)].map(([, path = '']) => path)

test('pipelined requests are handled one at a time, with responses in order', async () => {
  const { text, mostAtOnce } = await pipelined(['/a', '/b', '/c', '/last'])
  expect(answersIn(text)).toEqual(['/a', '/b', '/c', '/last'])
  expect(mostAtOnce).toBe(1)
})

test('a connection with too many pending requests is closed after the last one within the limit', async () => {
  const { text, begun } = await pipelined(Array.from({ length: 500 }, (_, index) => `/${index}`))
  expect(begun).toHaveLength(maxPipelined)
  expect(answersIn(text)).toHaveLength(maxPipelined)
  expect(text.match(/connection: close/gi)).toHaveLength(1)
})
