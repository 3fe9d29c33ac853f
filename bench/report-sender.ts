import { connect, type Socket } from 'node:net'
import { createStatusCounter } from './status-counter.ts'

export type ReportSender = {
  /** Sends one report without waiting for its response. */
  send(token: string, body: string): void
  /** The number of reports whose response is missing. */
  unanswered(): number
}

type Line = { socket: Socket | undefined; open: number }

const reconnectMs = 100

/**
 * Sends reports over a fixed number of raw sockets in turn, because an HTTP client takes more CPU than the service. `onRefused`
 * gets the status of each response that is not 202, and 0 for each report whose connection was lost.
 */
export function createReportSender(
  { port, connections }: { port: number; connections: number },
  onRefused: (status: number) => void,
): ReportSender {
  const lines = Array.from({ length: connections }, (): Line => ({ socket: undefined, open: 0 }))
  let [next, unanswered] = [0, 0]

  function open(line: Line): void {
    const socket = connect(port, '127.0.0.1').setNoDelay(true)
    const count = createStatusCounter((status) => {
      line.open--
      unanswered--
      if (status !== 202) onRefused(status)
    })
    socket.on('data', count)
    socket.on('error', () => {})
    socket.on('close', () => {
      for (; line.open > 0; line.open--, unanswered--) onRefused(0)
      line.socket = undefined
      setTimeout(() => open(line), reconnectMs)
    })
    line.socket = socket
  }
  for (const line of lines) open(line)

  return {
    send(token, body) {
      const line = lines[next++ % lines.length]
      if (!line?.socket) return onRefused(0)
      line.open++
      unanswered++
      line.socket.write(
        `POST /telemetry HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    },
    unanswered: () => unanswered,
  }
}
