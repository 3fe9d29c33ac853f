import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { createFairQueue } from '#core/fair-queue'
import type { CheckThreadSettings, FromCheckThread, ToCheckThread } from './check-thread.ts'
import type { Check, CheckContext } from './report-check.ts'
import { transferable } from './transferable.ts'

export type LargeReports = {
  /** Runs the work on a large report at its device's turn. */
  inTurn<Result>(deviceId: string, work: () => Promise<Result>): Promise<Result>
  /** Checks a body in another thread. */
  check(body: Buffer, context: CheckContext): Promise<Check>
  /** Ports through which the writers decode dense bodies in the same thread. Transfer each to one writer. */
  writerPorts: readonly MessagePort[]
  close(): Promise<void>
}

/** Reports above this size are large. A thousand samples of one kind are smaller. */
export const largeReportBytes = 256 * 1024

/** One is checked while the next is decompressed and the previous one is synced to the log. */
const reportsAtOnce = 3

/**
 * Checking a report allocates at most 50 MiB. The limits free that memory before the thread grows further. Without them,
 * each thread keeps up to 64 MiB for young objects alone.
 */
const threadLimits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 }

/**
 * Checks large reports in a separate thread, a few at a time and the devices in turn, so that neither the event loop nor
 * memory depends on the number of devices that send them. Calls `onFailure` if the thread ends unexpectedly.
 * `writerCount`: how many writers use the same thread.
 */
export function openLargeReports(writerCount: number, onFailure: (error: Error) => void): LargeReports {
  const turns = createFairQueue({ maxRunning: reportsAtOnce })
  type Waiting = { resolve: (found: FromCheckThread) => void; reject: (error: Error) => void }
  let waiting: Waiting[] = []
  let ended: Error | undefined
  const channels = Array.from({ length: writerCount }, () => new MessageChannel())
  const writers = channels.map(({ port1 }) => port1)

  const workerData: CheckThreadSettings = { writers }
  const options = { workerData, transferList: writers, resourceLimits: threadLimits }
  const thread = new Worker(new URL('./check-thread.ts', import.meta.url), options)
  const end = (error: Error) => {
    if (ended) return
    ended = error
    for (const { reject } of waiting) reject(error)
    waiting = []
    onFailure(error)
  }
  thread.on('message', (found: FromCheckThread) => waiting.shift()?.resolve(found))
  thread.on('error', (error) => end(error instanceof Error ? error : new Error('The check thread failed.')))
  thread.on('exit', () => end(new Error('The check thread ended.')))

  return {
    inTurn: turns.run,
    writerPorts: channels.map(({ port2 }) => port2),
    async check(body, context) {
      if (ended) throw ended
      // A large body usually has its own memory.
      const own = transferable(body)
      const found = await new Promise<FromCheckThread>((resolve, reject) => {
        waiting.push({ resolve, reject })
        thread.postMessage({ body: own, context } satisfies ToCheckThread, [own.buffer])
      })
      const { buffer, byteOffset, byteLength } = found.body
      return { body: Buffer.from(buffer, byteOffset, byteLength), checked: found.checked }
    },
    async close() {
      ended ??= new Error('Reports are no longer checked.')
      await thread.terminate()
    },
  }
}
