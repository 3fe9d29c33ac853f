import type { components } from './openapi.ts'
import type { Send } from './request.ts'
import { pause } from './retrying-fetch.ts'

export type JobBatch = components['schemas']['JobBatch']

export type BatchWait = {
  organizationId: string
  batchId: string
  /** Called with the batch at first and whenever its status, its counts or the reasons for which jobs are held have changed. */
  onProgress?: (batch: JobBatch) => void
  signal?: AbortSignal
}

const firstPauseMs = 250
const longestPauseMs = 5_000

/** Reads the batch until it has ended: often at first, then every five seconds. Rejects when the signal aborts. */
export async function waitForBatch(
  get: Send<'get'>,
  { organizationId, batchId, onProgress, signal }: BatchWait,
): Promise<JobBatch> {
  const params = { path: { orgId: organizationId, id: batchId } }
  let seen = ''
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const batch = await get('/orgs/{orgId}/job-batches/{id}', { params, ...(signal && { signal }) })
    const state = JSON.stringify([batch.status, batch.counts, batch.heldReasons])
    if (state !== seen) {
      pauseMs = firstPauseMs
      onProgress?.(batch)
    }
    seen = state
    if (batch.status === 'finished' || batch.status === 'cancelled') return batch
    await pause(pauseMs, signal)
  }
}
