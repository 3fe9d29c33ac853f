import { closeSync, fstatSync, openSync } from 'node:fs'
import { type DeadLetterPlace, saveDamagedBytes } from '#telemetry-log/dead-letters/dead-letters'
import { type FramedBatch, findFrame, maxFrameBytes, readFrame } from '#telemetry-log/frame'
import type { LoggedBatch, LogPosition, TelemetryLogReader } from '#telemetry-log/log'
import { decompressBody } from '#telemetry-log/stored-body'
import { listSegments, readRange, type Segment, segmentHeaderBytes } from './segments.ts'

export type SegmentReaderOptions = {
  folder: string
  /** For damaged bytes. Default: partition 0 of a log in `folder`. */
  deadLetters?: DeadLetterPlace
  from: LogPosition
  /**
   * Called once for each damaged part, after its bytes were saved in `dead-letter/`. A reader without it skips damaged
   * bytes and does not save them.
   */
  onDamage?: (damage: { from: LogPosition; to: LogPosition }) => void
}

/** `end` is the start of the next segment, if there was one when this segment was opened. */
type OpenedSegment = Segment & { fd: number; end: LogPosition | undefined }

/**
 * Reads the segment files of a partition that another thread may append to. Saves damaged parts and continues at the next valid
 * frame. Moves a position whose segment was deleted to the oldest segment.
 */
export function openSegmentReader(options: SegmentReaderOptions): TelemetryLogReader {
  const { folder, from, onDamage, deadLetters = { logFolder: folder, partition: 0 } } = options
  let position = from
  let segment: OpenedSegment | undefined

  function read(until: LogPosition, maxBytes: number): LoggedBatch[] {
    while (position < until) {
      const stop = openSegmentAt(until)
      if (stop === undefined) return []
      const batches = readChunk(stop, Math.max(maxBytes, 2 * maxFrameBytes))
      if (batches.length > 0) return batches
    }
    return []
  }

  /** Makes `segment` the one that holds the position and returns where reading must stop in it. */
  function openSegmentAt(until: LogPosition): LogPosition | undefined {
    for (;;) {
      if (segment && position >= segment.base) {
        // A segment is followed by the next one exactly where it ends, so a tail beyond its size means it is complete.
        // Later bytes in the file come from a process that had lost the log.
        const end = Math.min(segment.base + fstatSync(segment.fd).size, segment.end ?? Number.POSITIVE_INFINITY)
        if (position < end) {
          position = Math.max(position, segment.base + segmentHeaderBytes)
          return Math.min(end, until)
        }
      }
      const found = findSegment()
      if (found === undefined) return undefined
      closeSegment()
      segment = { ...found, fd: openSync(found.path, 'r') }
      position = Math.max(position, found.base)
    }
  }

  /** Returns the segment with the position. If it was read to its end, returns the next one. */
  function findSegment(): Omit<OpenedSegment, 'fd'> | undefined {
    const segments = listSegments(folder)
    const holding = segments.findLastIndex((candidate) => candidate.base <= position)
    const isRead = holding < 0 || segments[holding]?.base === segment?.base
    const index = isRead ? segments.findIndex((candidate) => candidate.base > (segment?.base ?? -1)) : holding
    const found = segments[index]
    return found && { ...found, end: segments[index + 1]?.base }
  }

  function readChunk(stop: LogPosition, maxBytes: number): LoggedBatch[] {
    if (!segment) return []
    const base = position
    // A fresh buffer for every chunk: bodies are views into it and may outlive this call.
    const bytes = readRange(segment.fd, base - segment.base, Math.min(stop - base, maxBytes))
    const { batches, length } = readFrames(bytes, base, {
      isLast: base + bytes.length >= stop,
      maxBytes,
      onDamage(from, to) {
        if (!onDamage) return
        saveDamagedBytes(deadLetters, base + from, bytes.subarray(from, to))
        onDamage({ from: base + from, to: base + to })
      },
    })
    position = base + length
    return batches
  }

  function closeSegment(): void {
    if (segment) closeSync(segment.fd)
    segment = undefined
  }

  return {
    read,
    isLoading: () => false,
    position: () => position,
    seek(target) {
      position = target
      closeSegment()
    },
    close: closeSegment,
  }
}

type Chunk = {
  /** No bytes follow before the position where reading stops. */
  isLast: boolean
  /** Of decompressed bodies, about. */
  maxBytes: number
  /** Called with the offsets of each damaged part. */
  onDamage: (from: number, to: number) => void
}

/** Reads the frames in a chunk that begins at `base`. `length`: how many of its bytes were read. */
function readFrames(
  bytes: Buffer,
  base: LogPosition,
  { isLast, maxBytes, onDamage }: Chunk,
): { batches: LoggedBatch[]; length: number } {
  const batches: LoggedBatch[] = []
  let offset = 0
  let decompressed = 0
  while (offset < bytes.length) {
    const found = readFrame(bytes, offset, bytes.length, base)
    const batch = found.kind === 'frame' ? loggedBatch(found.batch) : undefined
    if (found.kind === 'frame' && batch) {
      batches.push(batch)
      offset = found.end
      decompressed += batch.body.length
      // A few kilobytes of the log can hold many megabytes of bodies.
      if (decompressed >= maxBytes) break
      continue
    }
    // The next chunk begins here and shows more of it, unless this one already holds as much as a frame can be.
    if (found.kind !== 'frame' && !isLast && bytes.length - offset <= maxFrameBytes) break
    const next = findFrame(bytes, offset, bytes.length, base) ?? (isLast ? bytes.length : bytes.length - maxFrameBytes)
    onDamage(offset, next)
    offset = next
  }
  return { batches, length: offset }
}

function loggedBatch({ stored, ...batch }: FramedBatch): LoggedBatch | undefined {
  try {
    return { ...batch, body: decompressBody(stored) }
  } catch {
    return undefined
  }
}
