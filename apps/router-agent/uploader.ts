import type { Clock } from '#core/clock'
import type { Backoff } from './backoff.ts'
import type { EdgeAnswer, EdgeClient } from './edge-client.ts'
import type { Log } from './log.ts'
import type { SampleBuffer } from './sample-buffer.ts'

export type UploadResult = {
  /** Samples the service answered 202 for, the ones it listed as rejected included. */
  sent: number
  /** True when work waits at the service for this router. */
  jobsPending: boolean
  /** When something is left: how long to leave the service alone. 0 when all is sent. */
  waitMs: number
}

export type Uploader = { drain: () => Promise<UploadResult> }

type UploaderOptions = {
  edge: EdgeClient
  token: string
  buffer: SampleBuffer
  backoff: Backoff
  clock: Clock
  log: Log
}

/** Somebody has to act (a key, a subscription, a disabled device): asking again soon would only be noise. */
const refusedWaitMs = 300_000
const refusals = new Set([401, 402, 403, 404, 405, 415])

/**
 * Sends what the buffer holds, oldest first, until it is empty or the service cannot take more. A batch leaves the
 * buffer once the service has answered for each of its samples: accepted, or listed as rejected, which is final.
 */
export function createUploader({ edge, token, buffer, backoff, clock, log }: UploaderOptions): Uploader {
  async function giveUp(answer: EdgeAnswer): Promise<number> {
    await buffer.persist()
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
          // It would be refused for ever and hold up everything behind it.
          log('batch_dropped', { status: answer.status, detail: answer.detail, samples: batch.lines.length })
          await buffer.remove(batch.batchId)
        } else {
          result.waitMs = await giveUp(answer)
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
