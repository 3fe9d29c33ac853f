import { setTimeout as delay } from 'node:timers/promises'
import type { Attack } from '../attack.ts'
import { openRawSocket, type RawSocket } from '../raw-socket.ts'

const request = 'GET /livez HTTP/1.1\r\nHost: routerfleet\r\n\r\n'

/** Opens many idle connections, and some that send many requests without reading the responses. */
export const idleConnections: Attack = {
  name: 'idle-connections',
  about: '4,000 idle connections, and 50 that pipeline 2,000 requests each without reading',
  async run({ url, ingestUrl }, { quick, signal }) {
    const answers: Record<string, number> = {}
    const sockets: RawSocket[] = []
    try {
      for (let index = 0; index < 4_000 && !signal.aborted; index++) {
        sockets.push(openRawSocket(index % 2 === 0 ? url : ingestUrl))
        if (index % 100 === 99) await delay(20)
      }
      for (let index = 0; index < 50; index++) {
        const opened = openRawSocket(url)
        opened.socket.pause()
        opened.socket.write(request.repeat(2_000))
        sockets.push(opened)
      }
      await delay(quick ? 8_000 : 70_000, undefined, { signal }).catch(() => {})
      for (const { outcome } of sockets) answers[outcome()] = (answers[outcome()] ?? 0) + 1
      return { answers }
    } finally {
      for (const { socket } of sockets) socket.destroy()
    }
  },
}
