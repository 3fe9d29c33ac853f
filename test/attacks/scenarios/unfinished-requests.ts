import { setTimeout as delay } from 'node:timers/promises'
import type { Attack } from '../attack.ts'
import { openRawSocket, type RawSocket } from '../raw-socket.ts'

const almostMebibyte = Buffer.alloc(1024 ** 2 - 4_096, 'x')
const bodyHead = (path: string, authorization: string, length: string) =>
  `POST ${path} HTTP/1.1\r\nHost: routerfleet\r\n${authorization}Content-Type: application/json\r\n${length}\r\n\r\n`

const unknownToken = `Authorization: Bearer fld_0123456789abcdef_${'0'.repeat(64)}_000000\r\n`
const declared = `Content-Length: ${1024 ** 2}`

/** The first bytes of each connection. One byte per second follows, and no request is complete. */
const beginnings: readonly (() => (string | Buffer)[])[] = [
  () => ['GET /livez HTTP/1.1\r\nHost: routerfleet\r\nX-Slow: '],
  () => [bodyHead('/telemetry', '', declared), almostMebibyte],
  () => [bodyHead('/telemetry', unknownToken, declared), almostMebibyte],
  () => [bodyHead('/telemetry', 'Authorization: Bearer nonsense\r\n', declared), almostMebibyte],
  () => [bodyHead('/device/enroll', '', declared), almostMebibyte],
  () => [
    bodyHead('/device/enroll', '', 'Transfer-Encoding: chunked'),
    `${almostMebibyte.length.toString(16)}\r\n`,
    almostMebibyte,
    '\r\n',
  ],
  () => [bodyHead('/devices', unknownToken, declared), almostMebibyte],
  () => [],
]

/** Connections without a valid token start requests and do not finish them. */
export const unfinishedRequests: Attack = {
  name: 'unfinished-requests',
  about: '1,000 connections without a token that send incomplete headers and bodies of 1 MiB',
  async run({ url, ingestUrl }, { quick, signal }) {
    const answers: Record<string, number> = {}
    const sockets: RawSocket[] = []
    const holdMs = quick ? 15_000 : 90_000
    try {
      for (let index = 0; index < 1_000 && !signal.aborted; index++) {
        const opened = openRawSocket(index % 10 === 9 ? ingestUrl : url)
        sockets.push(opened)
        for (const part of beginnings[index % beginnings.length]?.() ?? []) opened.socket.write(part)
        if (index % 50 === 49) await delay(20)
      }
      const endMs = Date.now() + holdMs
      while (Date.now() < endMs && !signal.aborted) {
        await delay(1_000, undefined, { signal }).catch(() => {})
        for (const { socket } of sockets) if (socket.writable) socket.write('x')
      }
      for (const { outcome } of sockets) answers[outcome()] = (answers[outcome()] ?? 0) + 1
      return { answers }
    } finally {
      for (const { socket } of sockets) socket.destroy()
    }
  },
}
