import { connect, type Socket } from 'node:net'
import { createStatusCounter } from './status-counter.ts'

/**
 * A process that sends prepared requests over raw sockets as fast as the server responds, `pipeline` at a time per
 * connection, and counts the responses. It parses only status lines, so that it is not the bottleneck.
 */
export type LoadOrder = {
  /** Complete HTTP requests in base64, from which each connection sends every `connections`-th. */
  requests: string[]
  connections: number
  pipeline: number
  total: number
}
/** Sent after an order, which the process has confirmed. */
export type LoadStart = { port: number }
export type LoadReport = { accepted: number; refused: number; seconds: number; cpuSeconds: number }

async function run(order: LoadOrder, requests: readonly Buffer[], port: number): Promise<LoadReport> {
  let accepted = 0
  let refused = 0
  const started = performance.now()
  const cpu = process.cpuUsage()
  const one = (connection: number) =>
    new Promise<void>((resolve, reject) => {
      let open = 0
      let next = connection
      const socket: Socket = connect(port, '127.0.0.1')
      socket.setNoDelay(true)
      const fill = () => {
        const batch: Buffer[] = []
        while (open < order.pipeline && next < order.total) {
          const request = requests[next % requests.length]
          if (!request) break
          batch.push(request)
          open += 1
          next += order.connections
        }
        if (batch.length > 0) socket.write(batch.length === 1 && batch[0] ? batch[0] : Buffer.concat(batch))
        else if (open === 0) {
          socket.end()
          resolve()
        }
      }
      const count = createStatusCounter((status) => {
        open -= 1
        if (status === 202) accepted += 1
        else refused += 1
      })
      socket.on('connect', fill)
      socket.on('data', (chunk: Buffer) => {
        count(chunk)
        if (open <= order.pipeline / 2) fill()
      })
      socket.on('error', reject)
    })
  await Promise.all(Array.from({ length: order.connections }, (_, connection) => one(connection)))
  const used = process.cpuUsage(cpu)
  return {
    accepted,
    refused,
    seconds: (performance.now() - started) / 1_000,
    cpuSeconds: (used.user + used.system) / 1e6,
  }
}

process.once('message', (order: LoadOrder) => {
  const requests = order.requests.map((request) => Buffer.from(request, 'base64'))
  process.once('message', async ({ port }: LoadStart) => process.send?.(await run(order, requests, port)))
  process.send?.('prepared')
})
