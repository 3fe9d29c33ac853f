import type { DeviceIdentity } from '#device-edge/gateway'
import { createMomentStream, datedLines, type Moment, type MomentStream, type RecentOf } from '../moments.ts'
import type { PositionProtocol } from '../protocol.ts'

/** Complete moments of one device and protocol, which are sent together. */
type Batch = { protocol: PositionProtocol; device: DeviceIdentity; lines: string[]; receivedAtMs: number }

/** The lines of a device. `open`: its moment that is not complete yet. */
type Stream = {
  protocol: PositionProtocol
  device: DeviceIdentity
  moments: MomentStream
  open: Moment | undefined
  quiet: NodeJS.Timeout | undefined
}

/** After this time without a line of a device, its moment is complete. */
const quietMs = 2_000
/** Devices of one connection whose moments are kept open. */
const maxStreams = 4
const maxBatchLines = 500
const maxBatches = 4

export type PositionBatches = {
  add(protocol: PositionProtocol, device: DeviceIdentity, line: string): void
  /** Completes all moments. */
  completeAll(): void
  /** The oldest batch. While it is being sent, nothing is added to it. */
  first(): Batch | undefined
  /** Removes the oldest batch. */
  shift(): void
  clear(): void
  isFull(): boolean
}

type Parts = { recentOf: RecentOf; nowMs: () => number; isSending: () => boolean; onComplete: () => void }

/**
 * Keeps the lines of each device together until a line of another moment comes, or no line comes for two seconds: a part of a
 * moment would be stored as a row of its own, and the next part would replace it. A moment of which more lines come later is
 * complete again, with all its lines.
 */
export function createPositionBatches({ recentOf, nowMs, isSending, onComplete }: Parts): PositionBatches {
  const streams = new Map<string, Stream>()
  let batches: Batch[] = []

  function complete(stream: Stream): void {
    clearTimeout(stream.quiet)
    const { open, protocol, device } = stream
    stream.open = undefined
    if (!open) return
    const last = batches.at(-1)
    const isSame = last?.protocol === protocol && last.device.value === device.value
    const isOnItsWay = isSending() && batches.length === 1
    if (last && isSame && !isOnItsWay && last.lines.length < maxBatchLines) {
      last.lines.push(...open.lines)
      last.receivedAtMs = Math.max(last.receivedAtMs, open.receivedAtMs)
    } else batches.push({ protocol, device, lines: [...datedLines(open)], receivedAtMs: open.receivedAtMs })
    onComplete()
  }

  function completeLast(stream: Stream): void {
    complete(stream)
    stream.moments.end()
  }

  function streamOf(protocol: PositionProtocol, device: DeviceIdentity): Stream {
    const key = `${protocol} ${device.kind} ${device.value}`
    const known = streams.get(key)
    if (known) {
      streams.delete(key)
      streams.set(key, known)
      return known
    }
    const [oldest] = streams
    if (oldest && streams.size >= maxStreams) {
      streams.delete(oldest[0])
      complete(oldest[1])
    }
    const moments = createMomentStream(protocol, recentOf(key), nowMs)
    const stream: Stream = { protocol, device, moments, open: undefined, quiet: undefined }
    streams.set(key, stream)
    return stream
  }

  return {
    add(protocol, device, line) {
      const stream = streamOf(protocol, device)
      const moment = stream.moments.add(line)
      if (stream.open !== moment) complete(stream)
      stream.open = moment
      clearTimeout(stream.quiet)
      // A line of Cradlepoint is complete.
      if (protocol === 'cradlepoint') complete(stream)
      else stream.quiet = setTimeout(completeLast, quietMs, stream)
    },
    completeAll() {
      for (const stream of streams.values()) completeLast(stream)
    },
    first: () => batches[0],
    shift: () => {
      batches.shift()
    },
    clear: () => {
      batches = []
    },
    isFull: () => batches.length >= maxBatches || (batches.at(-1)?.lines.length ?? 0) >= maxBatchLines,
  }
}
