import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { DeviceIdentity } from '#device-edge/gateway'
import type { Delivery } from '../delivery.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Protocol } from '../protocol.ts'
import type { ServiceClient } from '../service-client.ts'
import { kindOf } from './line-kind.ts'
import { createLineReader } from './lines.ts'

type ReceiverParts = {
  service: Pick<ServiceClient, 'report'>
  delivery: Delivery
  metrics: Pick<GatewayMetrics, 'count'>
  nowMs: () => number
  /** The device that is configured for the address of the socket. */
  configured: DeviceIdentity | undefined
}

/** The lines of one device and protocol that are sent together. */
type Batch = { protocol: Protocol; device: DeviceIdentity; lines: string[] }

/** How long lines are collected: all sentences of one time come within a second. */
const collectMs = 1_000
const maxBatchLines = 500
const maxBatches = 4
const idleLimitMs = 10 * 60_000
/** Lines that cannot be used before the connection is closed. */
const maxUnusable = 100
const watch = '?WATCH={"enable":true,"json":true}\n'

/** How long the last lines of a closed connection may wait for the service. */
const lastLinesMs = 10_000

/**
 * Reads the lines of a receiver and reports them. While a batch waits for the service, further lines are collected; when they
 * are too many, the socket is paused. Lines before the name of the device are dropped and counted. Resolves when the
 * connection is closed and its last lines are reported.
 */
export async function readReceiver(socket: Socket, parts: ReceiverParts): Promise<void> {
  const { service, delivery, metrics, nowMs } = parts
  const reader = createLineReader()
  const closed = new AbortController()
  let device = parts.configured
  let batches: Batch[] = []
  let sending: Promise<void> | undefined
  let collecting: NodeJS.Timeout | undefined
  let unusable = 0

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
    else {
      const owner = kind.device ?? device
      if (owner) collect({ protocol: kind.protocol, device: owner, lines: [line] })
      else drop('no_device')
    }
  }

  function collect(added: Batch): void {
    const last = batches.at(-1)
    const isSame = last?.protocol === added.protocol && last.device.value === added.device.value
    // The first batch is being sent.
    if (last && isSame && !(sending && batches.length === 1)) last.lines.push(...added.lines)
    else batches.push(added)
    const isFull = batches.length >= maxBatches || (batches.at(-1)?.lines.length ?? 0) >= maxBatchLines
    if (isFull) {
      socket.pause()
      void send()
    } else collecting ??= setTimeout(send, collectMs)
  }

  function send(): Promise<void> {
    clearTimeout(collecting)
    collecting = undefined
    sending ??= sendAll().finally(() => {
      sending = undefined
    })
    return sending
  }

  async function sendAll(): Promise<void> {
    for (let batch = batches[0]; batch; batch = batches[0]) {
      const { protocol, device: owner, lines } = batch
      const report = { protocol, device: owner, body: Buffer.from(lines.join('\n')), receivedAtMs: nowMs() }
      const delivered = await delivery.deliver((signal) => service.report(report, signal), closed.signal)
      const outcome = delivered?.outcome ?? 'abandoned'
      metrics.count('tcp', protocol, outcome, delivered ? reasonOf(delivered.answer) : 'closed')
      batches.shift()
      socket.resume()
      if (!delivered) batches = []
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
  const limit = setTimeout(() => closed.abort(), lastLinesMs)
  await send()
  clearTimeout(limit)
}

const reasonOf = ({ status, body }: { status: number; body: unknown }): string => {
  if (status < 300) return ''
  return typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : `status_${status}`
}
