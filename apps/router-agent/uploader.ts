import type { Clock } from '#core/clock'
import type { Backoff } from './backoff.ts'
import type { EdgeAnswer, EdgeClient } from './edge-client.ts'
import type { Log } from './log.ts'
import type { SampleBuffer } from './sample-buffer.ts'

type UploadResult = {
  /** Number of samples in requests with status 202, including those that the service rejected. */
  sent: number
  /** True when the service has jobs for this router. */
  jobsPending: boolean
  /** The delay before the next call when samples remain; 0 when all were sent. */
  waitMs: number
}

type Uploader = { drain: () => Promise<UploadResult> }

type UploaderOptions = {
  edge: EdgeClient
  token: string
  buffer: SampleBuffer
  /** Writes the buffer to disk. Does not throw. */
  persist: () => Promise<void>
  backoff: Backoff
  clock: Clock
  log: Log
}

/** An operator must act first (key, subscription, disabled device), so an early retry is useless. */
const refusedWaitMs = 300_000
const refusals = new Set([401, 402, 403, 404, 405, 415])

/**
 * Sends the samples of the buffer, oldest first, until it is empty or the service refuses. Removes a batch from the buffer
 * when the service has accepted or finally rejected each of its samples.
 */
export function createUploader({ edge, token, buffer, persist, backoff, clock, log }: UploaderOptions): Uploader {
  async function delayAfter(answer: EdgeAnswer): Promise<number> {
    await persist()
    const waitMs = refusals.has(answer.status)
      ? Math.max(refusedWaitMs, answer.retryAfterMs ?? 0)
      : backoff.next(answer.retryAfterMs)
    const event = refusals.has(answer.status) ? 'telemetry_refused' : 'telemetry_delayed'
    log(event, { status: answer.status, detail: answer.detail, waitMs: Math.round(waitMs), ...buffer.figures() })
    return waitMs
  }

  return {
    async drain() {
      const result: UploadResult = { sent: 0, jobsPending: false, waitMs: 0 }
      for (let batch = await buffer.oldest(); batch; batch = await buffer.oldest()) {
        const header = JSON.stringify({ sentAt: clock(), batchId: batch.batchId })
        const answer = await edge.postTelemetry(token, `${header}\n${batch.lines.join('\n')}\n`)
        if (answer.status === 202) {
          const { rejected, jobsPending } = acceptance(answer.body)
          if (rejected.length > 0) log('samples_rejected', { count: rejected.length, codes: codesOf(rejected) })
          await buffer.remove(batch.batchId)
          backoff.reset()
          result.sent += batch.lines.length
          result.jobsPending = jobsPending
        } else if (answer.status === 413 && (await buffer.halve(batch))) {
          log('batch_halved', { samples: batch.lines.length })
        } else if (answer.status === 400 || answer.status === 413) {
          // The batch would always be refused and would block the following ones.
          log('batch_dropped', { status: answer.status, detail: answer.detail, samples: batch.lines.length })
          await buffer.remove(batch.batchId)
        } else {
          result.waitMs = await delayAfter(answer)
          return result
        }
      }
      return result
    },
  }
}

type Rejected = { code?: unknown }

function acceptance(body: unknown): { rejected: Rejected[]; jobsPending: boolean } {
  const { rejected, jobsPending } = (body ?? {}) as { rejected?: unknown; jobsPending?: unknown }
  return {
    rejected: Array.isArray(rejected) ? rejected : [],
    jobsPending: Number(jobsPending) > 0 || jobsPending === true,
  }
}

const codesOf = (rejected: Rejected[]): string[] => [...new Set(rejected.map(({ code }) => String(code)))]
