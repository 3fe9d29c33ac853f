import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { CheckThreadSettings, FromCheckThread, ToCheckThread } from './check-thread.ts'
import { createFairLine } from './fair-line.ts'
import type { CheckContext, checkReport } from './report-check.ts'

export type LargeReports = {
  /** Runs the work on one large report when its device's turn comes. */
  inTurn<Result>(deviceId: string, work: () => Promise<Result>): Promise<Result>
  /** Checks a body off the event loop. Returns the body as well: its memory is with the check meanwhile. */
  check(body: Buffer, context: CheckContext): Promise<{ body: Buffer; checked: ReturnType<typeof checkReport> }>
  /** Reports whose turn has not come. */
  waiting(): number
  /** Through this port the writer has dense bodies decoded by the same thread. To be transferred to it. */
  writerPort: MessagePort
  close(): Promise<void>
}

/** A report of more than this is a large one: a thousand samples of one kind are smaller. */
export const largeReportBytes = 256 * 1024

/** One is checked while the next is decompressed and the last one is synced to the log. */
const reportsAtOnce = 3

/**
 * What one report makes while it is checked, at most 50 MiB, is let go of before the memory of the thread grows further.
 * Without limits each thread keeps up to 64 MiB for young objects alone.
 */
const threadLimits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 }

/**
 * Checks large reports in a thread of their own, few at once and the devices in turn: neither the event loop nor the
 * memory of the process depends on how many devices send them. `onFailure` is called when the thread ends by itself.
 */
export function openLargeReports(onFailure: (error: Error) => void): LargeReports {
  const line = createFairLine(reportsAtOnce)
  type Waiting = { resolve: (found: FromCheckThread) => void; reject: (error: Error) => void }
  let waiting: Waiting[] = []
  let ended: Error | undefined
  const { port1: writer, port2: writerPort } = new MessageChannel()

  const workerData: CheckThreadSettings = { writer }
  const options = { workerData, transferList: [writer], resourceLimits: threadLimits }
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
    inTurn: line.run,
    waiting: line.waiting,
    writerPort,
    async check(body, context) {
      if (ended) throw ended
      // A large body has its memory for itself unless it is a part of a larger one.
      const own = new Uint8Array(body.buffer instanceof ArrayBuffer && isWhole(body) ? body.buffer : copyOf(body))
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

const isWhole = ({ buffer, byteLength }: Buffer) => buffer.byteLength === byteLength

function copyOf(body: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(body.length)
  new Uint8Array(copy).set(body)
  return copy
}
