import { frameHeaderBytes } from '#telemetry-log/frame'
import type { TelemetryBatch } from '#telemetry-log/log'

export type WaitingAppend = { batch: TelemetryBatch; resolve: () => void; reject: (error: Error) => void }

export type AppendQueueFigures = { bytes: number; reports: number; isFull: boolean }

/** Appends that wait for the sync before theirs, in order and within limits. */
export type AppendQueue = {
  /** Adds an append. False when the queue is full. */
  push(waiting: WaitingAppend): boolean
  /** Takes the first appends, as many as fit into one write of `maxBytes`. */
  takeGroup(maxBytes: number): WaitingAppend[]
  takeAll(): WaitingAppend[]
  figures(): AppendQueueFigures
}

/** Bodies count with their decompressed size, which is the memory that they may use. */
export function createAppendQueue(limits: { maxBytes: number; maxReports: number }): AppendQueue {
  let waiting: WaitingAppend[] = []
  let bytes = 0

  const isFull = () => bytes >= limits.maxBytes || waiting.length >= limits.maxReports

  function take(count: number): WaitingAppend[] {
    const taken = count === waiting.length ? waiting : waiting.splice(0, count)
    if (taken === waiting) waiting = []
    for (const { batch } of taken) bytes -= bytesOf(batch)
    return taken
  }

  return {
    push(entry) {
      if (isFull()) return false
      waiting.push(entry)
      bytes += bytesOf(entry.batch)
      return true
    },
    takeGroup(maxBytes) {
      let groupBytes = 0
      let count = 0
      for (const { batch } of waiting) {
        groupBytes += bytesOf(batch)
        if (groupBytes > maxBytes) break
        count++
      }
      return take(count)
    },
    takeAll: () => take(waiting.length),
    figures: () => ({ bytes, reports: waiting.length, isFull: isFull() }),
  }
}

const bytesOf = ({ body }: TelemetryBatch): number => frameHeaderBytes + body.length
