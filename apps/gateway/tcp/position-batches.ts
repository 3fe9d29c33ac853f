import type { DeviceIdentity } from '#device-edge/gateway'
import type { PositionProtocol } from './line-kind.ts'
import { createBoundaries } from './moments.ts'

/** Complete moments of one device and protocol, which are sent together. */
type Batch = { protocol: PositionProtocol; device: DeviceIdentity; lines: string[]; receivedAtMs: number }

/** The lines of a device whose moment is not complete yet. */
type Stream = {
  begins: (line: string) => boolean
  open: Batch | undefined
  quiet: NodeJS.Timeout | undefined
}

/** After this time without a line of a device, its moment is complete. */
const quietMs = 2_000
/** Devices of one connection whose moments are kept open. */
const maxStreams = 4
/** A moment of more lines is none: its receiver sends no time. */
const maxMomentLines = 100
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

/**
 * Keeps the lines of each device together until a line of another moment comes, or no line comes for two seconds: a part of a
 * moment would be stored as a row of its own, and the next part would replace it.
 */
export function createPositionBatches(
  nowMs: () => number,
  isSending: () => boolean,
  onComplete: () => void,
): PositionBatches {
  const streams = new Map<string, Stream>()
  let batches: Batch[] = []

  function complete(stream: Stream): void {
    clearTimeout(stream.quiet)
    const { open } = stream
    stream.open = undefined
    if (!open) return
    const last = batches.at(-1)
    const isSame = last?.protocol === open.protocol && last.device.value === open.device.value
    const isOnItsWay = isSending() && batches.length === 1
    if (last && isSame && !isOnItsWay && last.lines.length < maxBatchLines) {
      last.lines.push(...open.lines)
      last.receivedAtMs = open.receivedAtMs
    } else batches.push(open)
    onComplete()
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
    const stream: Stream = { begins: createBoundaries(protocol), open: undefined, quiet: undefined }
    streams.set(key, stream)
    return stream
  }

  return {
    add(protocol, device, line) {
      const stream = streamOf(protocol, device)
      if (stream.begins(line) || (stream.open?.lines.length ?? 0) >= maxMomentLines) complete(stream)
      stream.open ??= { protocol, device, lines: [], receivedAtMs: nowMs() }
      stream.open.lines.push(line)
      clearTimeout(stream.quiet)
      // A line of Cradlepoint is complete.
      if (protocol === 'cradlepoint') complete(stream)
      else stream.quiet = setTimeout(complete, quietMs, stream)
    },
    completeAll() {
      for (const stream of streams.values()) complete(stream)
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
