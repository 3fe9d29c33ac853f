import { closeSync, fdatasync, ftruncateSync, write } from 'node:fs'
import { toError } from '#core/error-text'
import { preparePrivateFolder } from '#files/private-folder'
import { type AppendQueueFigures, createAppendQueue, type WaitingAppend } from '#telemetry-log/append-queue'
import { type CommitFigures, createCommitMeter } from '#telemetry-log/commit-meter'
import type { DeadLetterPlace } from '#telemetry-log/dead-letters/dead-letters'
import { maxFrameBytes, writeFrame } from '#telemetry-log/frame'
import { isLeaseHeld, type Lease } from '#telemetry-log/lock/lease'
import { type FolderLock, lockFolder } from '#telemetry-log/lock/lock'
import type { LogTail, TelemetryBatch, TelemetryLog } from '#telemetry-log/log'
import { LogFailedError, LogFullError } from '#telemetry-log/log'
import { type OpenSegment, openNewestSegment } from './recover.ts'
import { createSegment, segmentHeaderBytes } from './segments.ts'
import { isShortage } from './shortage.ts'

export type SegmentLogOptions = {
  folder: string
  /** For damaged bytes. Default: partition 0 of a log in `folder`. */
  deadLetters?: DeadLetterPlace
  /** A lock that the caller holds and releases. Default: the log locks `folder`. */
  lock?: FolderLock
  /** A segment that has reached this size is followed by a new one. */
  maxSegmentBytes?: number
  /** Called with every new durable tail, before the appends it covers resolve. */
  onTail?: (tail: LogTail) => void
  /** Limits the appends that wait for a slow sync. Further ones are rejected as if the disk were full. */
  maxWaitingBytes?: number
  maxWaitingReports?: number
  /** Makes a descriptor's data durable. Tests pass a function that fails. */
  syncData?: (fd: number, done: (error: Error | null) => void) => void
}

/** The write side of one partition. */
export type SegmentLog = Omit<TelemetryLog, 'partitions'> & {
  tail(): LogTail
  /** The right to write in the folder, for other threads of this process. */
  lease: Lease
  /** Appends that wait for the disk. */
  queue(): AppendQueueFigures
  /** Writes with their syncs. */
  commits(): CommitFigures
}

const mebibyte = 1024 * 1024

/**
 * One partition as fsynced segment files in one folder, locked to this process. Appends are committed in groups: one
 * write and one sync for all that arrived while the previous sync ran (up to 1 MiB), both off the event loop. Rejects
 * when another process uses the folder or when it is unreadable.
 */
// Long because each step of a commit reads and changes the same segment, queue and end.
export async function openSegmentLog(options: SegmentLogOptions): Promise<SegmentLog> {
  const { folder, maxSegmentBytes = 64 * mebibyte, onTail, syncData = fdatasync } = options
  const { maxWaitingBytes = 16 * mebibyte, maxWaitingReports = 16_384 } = options
  const { deadLetters = { logFolder: folder, partition: 0 } } = options
  preparePrivateFolder(folder)
  const lock = options.lock ?? (await lockFolder(folder))
  const releaseLock = async () => {
    if (!options.lock) await lock.release()
  }
  let segment: OpenSegment
  try {
    segment = openNewestSegment(folder, deadLetters)
  } catch (error) {
    await releaseLock()
    throw error
  }
  // The previous holder may still write to the newest file, so this process starts a new file.
  let mustStartSegment = lock.mayHaveRival
  const queue = createAppendQueue({ maxBytes: maxWaitingBytes, maxReports: maxWaitingReports })
  const commits = createCommitMeter()
  let committing = false
  let ended: Error | undefined
  const failure = Promise.withResolvers<Error>()
  let idle: PromiseWithResolvers<void> | undefined
  const staging = Buffer.allocUnsafeSlow(maxFrameBytes)
  if (mustStartSegment) startSegmentIfRoom()
  onTail?.(segment.tail)
  lock.lost.then((error) => fail([], error))

  function append(batch: TelemetryBatch): Promise<void> {
    if (ended) return Promise.reject(new LogFailedError(ended))
    return new Promise((resolve, reject) => {
      if (!queue.push({ batch, resolve, reject })) reject(new LogFullError())
      else if (!committing) commit()
    })
  }

  function commit(): void {
    committing = true
    const group = queue.takeGroup(staging.length)
    let samples = segment.tail.samples
    let length = 0
    try {
      if (mustStartSegment || segment.tail.position - segment.base >= maxSegmentBytes) startSegment()
      for (const { batch } of group) {
        length = writeFrame(staging, length, segment.tail.position, batch, samples)
        samples += batch.sampleCount
      }
    } catch (error) {
      refuse(group, error)
      return
    }
    const tail = { position: segment.tail.position + length, samples }
    const measured = commits.begin()
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
        // If another process took over while this one was frozen, this write is not part of its log.
        if (!isLeaseHeld(lock.lease)) {
          fail(group, new Error(`Another process has taken over the telemetry log ${folder}.`))
          return
        }
        measured.end()
        segment.tail = tail
        onTail?.(tail)
        for (const entry of group) entry.resolve()
        commitNext()
      })
    })
  }

  function startSegment(): void {
    const base = segment.tail.position
    const created = createSegment(folder, base, segment.tail.samples)
    closeSync(segment.fd)
    segment = { ...created, base, tail: { position: base + segmentHeaderBytes, samples: segment.tail.samples } }
    mustStartSegment = false
  }

  function startSegmentIfRoom(): void {
    try {
      startSegment()
    } catch (error) {
      // The first append tries again.
      if (!isShortage(error)) throw error
    }
  }

  /** Handles a shortage of disk space or descriptors: truncates a partial write, rejects its appends and continues. */
  function refuse(group: WaitingAppend[], error: unknown): void {
    let cause = isShortage(error) ? undefined : error
    try {
      if (!mustStartSegment) ftruncateSync(segment.fd, segment.tail.position - segment.base)
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

  function fail(group: WaitingAppend[], cause: unknown): void {
    ended ??= toError(cause)
    for (const entry of [...group, ...queue.takeAll()]) entry.reject(new LogFailedError(ended))
    committing = false
    failure.resolve(ended)
    idle?.resolve()
  }

  function commitNext(): void {
    committing = !ended && queue.figures().reports > 0
    if (committing) commit()
    else idle?.resolve()
  }

  async function drain(): Promise<void> {
    if (committing) {
      idle = Promise.withResolvers()
      await idle.promise
    }
    ended ??= new Error('The log was closed.')
  }

  async function close(): Promise<void> {
    await drain()
    closeSync(segment.fd)
    await releaseLock()
  }

  return {
    append,
    tail: () => segment.tail,
    failed: failure.promise,
    drain,
    close,
    lease: lock.lease,
    queue: queue.figures,
    commits: commits.figures,
  }
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
