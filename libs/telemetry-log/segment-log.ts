import { closeSync, fdatasync, ftruncateSync, mkdirSync, write } from 'node:fs'
import { frameHeaderBytes, maxFrameBytes, writeFrame } from '#telemetry-log/frame'
import { lockFolder } from '#telemetry-log/lock'
import type { LogTail, TelemetryBatch, TelemetryLog } from '#telemetry-log/log'
import { LogFailedError, LogFullError } from '#telemetry-log/log'
import { openNewestSegment } from '#telemetry-log/recover'
import { createSegment, segmentHeaderBytes } from '#telemetry-log/segments'
import { isShortage } from '#telemetry-log/shortage'

export type SegmentLogOptions = {
  folder: string
  /** A segment that has reached this size is followed by a new one. */
  maxSegmentBytes?: number
  /** Called with every new durable tail, before the appends it covers resolve. */
  onTail?: (tail: LogTail) => void
  /** How a descriptor's data is made durable; a test passes one that fails. */
  syncData?: (fd: number, done: (error: Error | null) => void) => void
}

type Waiting = { batch: TelemetryBatch; resolve: () => void; reject: (error: Error) => void }

/**
 * The telemetry log as fsynced segment files in one folder, locked to this process; throws when it is in use or
 * unreadable. Appends are committed in groups: one write and one sync for all that arrived while the previous sync ran
 * (up to 1 MiB), both off the event loop.
 */
export function openSegmentLog(options: SegmentLogOptions): TelemetryLog {
  const { folder, maxSegmentBytes = 64 * 1024 * 1024, onTail, syncData = fdatasync } = options
  mkdirSync(folder, { recursive: true })
  const unlock = lockFolder(folder)
  let segment = openNewestSegment(folder)
  let waiting: Waiting[] = []
  let committing = false
  let ended: Error | undefined
  let signalFailure: (error: Error) => void = () => {}
  let signalIdle: () => void = () => {}
  const failed = new Promise<Error>((resolve) => {
    signalFailure = resolve
  })
  const staging = Buffer.allocUnsafeSlow(maxFrameBytes)
  onTail?.(segment.tail)

  function append(batch: TelemetryBatch): Promise<void> {
    if (ended) return Promise.reject(new LogFailedError(ended))
    return new Promise((resolve, reject) => {
      waiting.push({ batch, resolve, reject })
      if (!committing) commit()
    })
  }

  function commit(): void {
    committing = true
    const group = takeGroup()
    let samples = segment.tail.samples
    let length = 0
    try {
      if (segment.tail.position - segment.base >= maxSegmentBytes) startSegment()
      for (const { batch } of group) {
        length = writeFrame(staging, length, segment.tail.position, batch, samples)
        samples += batch.sampleCount
      }
    } catch (error) {
      refuse(group, error)
      return
    }
    const tail = { position: segment.tail.position + length, samples }
    writeWhole(segment.fd, staging, length, segment.tail.position - segment.base, (writeError) => {
      if (writeError) {
        refuse(group, writeError)
        return
      }
      syncData(segment.fd, (syncError) => {
        if (syncError) {
          fail(group, syncError)
          return
        }
        segment.tail = tail
        onTail?.(tail)
        for (const entry of group) entry.resolve()
        commitNext()
      })
    })
  }

  /** As many waiting batches as the staging buffer holds. */
  function takeGroup(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { batch } of waiting) {
      bytes += frameHeaderBytes + batch.body.length
      if (bytes > staging.length) break
      count++
    }
    if (count === waiting.length) {
      const all = waiting
      waiting = []
      return all
    }
    return waiting.splice(0, count)
  }

  function startSegment(): void {
    const base = segment.tail.position
    const created = createSegment(folder, base, segment.tail.samples)
    closeSync(segment.fd)
    segment = { ...created, base, tail: { position: base + segmentHeaderBytes, samples: segment.tail.samples } }
  }

  /** A shortage is not a failure: what was half written is cut, its senders are told, and the log goes on. */
  function refuse(group: Waiting[], error: unknown): void {
    let cause = isShortage(error) ? undefined : error
    try {
      ftruncateSync(segment.fd, segment.tail.position - segment.base)
    } catch (truncateError) {
      cause ??= truncateError
    }
    if (cause !== undefined) {
      fail(group, cause)
      return
    }
    for (const entry of group) entry.reject(new LogFullError())
    commitNext()
  }

  function fail(group: Waiting[], cause: unknown): void {
    ended = cause instanceof Error ? cause : new Error(String(cause))
    for (const entry of [...group, ...waiting]) entry.reject(new LogFailedError(ended))
    waiting = []
    committing = false
    signalFailure(ended)
    signalIdle()
  }

  function commitNext(): void {
    committing = waiting.length > 0
    if (committing) commit()
    else signalIdle()
  }

  async function close(): Promise<void> {
    if (committing) {
      await new Promise<void>((resolve) => {
        signalIdle = resolve
      })
    }
    ended ??= new Error('The log was closed.')
    closeSync(segment.fd)
    unlock()
  }

  return { append, tail: () => segment.tail, failed, close }
}

function writeWhole(
  fd: number,
  bytes: Buffer,
  length: number,
  position: number,
  done: (error: Error | null) => void,
  written = 0,
): void {
  write(fd, bytes, written, length - written, position + written, (error, count) => {
    if (error) done(error)
    else if (written + count >= length) done(null)
    else writeWhole(fd, bytes, length, position, done, written + count)
  })
}
