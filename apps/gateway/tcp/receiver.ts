import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { DeviceIdentity } from '#device-edge/gateway'
import { type Delivery, outcomeOf } from '../delivery.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { RecentOf } from '../moments.ts'
import type { ServiceClient } from '../service-client.ts'
import { kindOf } from './line-kind.ts'
import { createLineReader } from './lines.ts'
import { createPositionBatches } from './position-batches.ts'

type ReceiverParts = {
  service: Pick<ServiceClient, 'report'>
  delivery: Delivery
  metrics: Pick<GatewayMetrics, 'count'>
  nowMs: () => number
  /** The device that is configured for the address of the socket. */
  configured: DeviceIdentity | undefined
  recentOf: RecentOf
}

/** The shortest time between two reports of a connection: a receiver can have ten positions a second. */
const betweenReportsMs = 1_000
const idleLimitMs = 10 * 60_000
/** Lines in a row that cannot be used before the connection is closed. */
const maxUnusable = 100
const watch = '?WATCH={"enable":true,"json":true}\n'

/** How long the last lines of a closed connection may wait for the service. */
const lastLinesMs = 10_000

/**
 * Reads the lines of a receiver and reports its complete moments. While a batch waits for the service, further lines are
 * collected; when they are too many, the socket is paused. Lines before the name of the device are dropped and counted.
 * Resolves when the connection is closed and its last lines are reported.
 */
export async function readReceiver(socket: Socket, parts: ReceiverParts): Promise<void> {
  const { service, delivery, metrics, nowMs, recentOf } = parts
  const reader = createLineReader()
  const closed = new AbortController()
  let device = parts.configured
  let sending: Promise<void> | undefined
  let waiting: NodeJS.Timeout | undefined
  let [sentAtMs, unusable] = [Number.NEGATIVE_INFINITY, 0]
  const batches = createPositionBatches({ recentOf, nowMs, isSending: () => sending !== undefined, onComplete })

  function drop(reason: string): void {
    metrics.count('tcp', 'unknown', 'ignored', reason)
    unusable += 1
    if (unusable > maxUnusable) socket.destroy()
  }

  function take(line: string): void {
    // gpsd greets its clients and waits for a command.
    if (line.startsWith('{"class":"VERSION"')) socket.write(watch)
    const kind = kindOf(line)
    if (kind.is === 'unknown') drop('line')
    else if (kind.is === 'identity') device = kind.device
    else if (kind.is === 'position') {
      const owner = kind.device ?? device
      if (owner) {
        unusable = 0
        batches.add(kind.protocol, owner, line)
      } else drop('no_device')
    }
  }

  function onComplete(): void {
    if (batches.isFull()) {
      socket.pause()
      void send()
    } else waiting ??= setTimeout(send, Math.max(0, sentAtMs + betweenReportsMs - performance.now()))
  }

  function send(): Promise<void> {
    clearTimeout(waiting)
    waiting = undefined
    sending ??= sendAll().finally(() => {
      sending = undefined
    })
    return sending
  }

  async function sendAll(): Promise<void> {
    for (let batch = batches.first(); batch; batch = batches.first()) {
      sentAtMs = performance.now()
      const { protocol, device: owner, lines, receivedAtMs } = batch
      const report = { protocol, device: owner, body: Buffer.from(lines.join('\n')), receivedAtMs }
      const delivered = await delivery.deliver((signal) => service.report(report, signal), closed.signal)
      const { outcome, reason } = outcomeOf(delivered)
      metrics.count('tcp', protocol, outcome, delivered ? reason : 'closed')
      batches.shift()
      socket.resume()
      if (!delivered) batches.clear()
    }
  }

  socket.setTimeout(idleLimitMs, () => socket.destroy())
  socket.setNoDelay(true)
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const line of reader.read(chunk)) if (!socket.destroyed) take(line)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      metrics.count('tcp', 'unknown', 'refused', 'line_too_long')
      socket.destroy()
    }
  })
  socket.on('error', () => socket.destroy())
  // A receiver may send its last lines and close.
  await once(socket, 'close').catch(() => {})
  batches.completeAll()
  const limit = setTimeout(() => closed.abort(), lastLinesMs)
  await send()
  clearTimeout(limit)
}
