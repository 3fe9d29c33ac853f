import type { JobBatch } from '../batches.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { print, type Session } from './session.ts'
import { table } from './table.ts'

const clearLine = '\r\u001b[K'

/**
 * Follows a batch until it ends: one line that changes on a terminal, otherwise one line for each change. Throws with exit
 * code 7 if a job did not succeed.
 */
export async function watchBatch(session: Session, batchId: string): Promise<void> {
  const isLive = process.stderr.isTTY && !session.isJson
  const batch = await session.client.waitForBatch({
    organizationId: await session.organizationId(),
    batchId,
    onProgress: (seen) => {
      if (isLive) process.stderr.write(clearLine + progressOf(seen))
      else if (!session.isJson) print(progressOf(seen))
    },
  })
  if (isLive) process.stderr.write(clearLine)
  session.print(batch, () => (isLive ? progressOf(batch) : `The batch is ${batch.status}.`))
  const failed = batch.jobs.filter(({ status }) => status !== 'succeeded')
  if (batch.counts.succeeded === batch.total) return
  const rows = failed.map(({ id, deviceId, status }) => [id, deviceId, status])
  const count = batch.total - (batch.counts.succeeded ?? 0)
  throw new CommandError(
    `${count} of ${batch.total} jobs did not succeed:\n${table(['JOB', 'DEVICE', 'STATUS'], rows)}`,
    exitCodes.jobsFailed,
  )
}

const words: [keyof JobBatch['counts'], string][] = [
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['rejected', 'rejected'],
  ['timedOut', 'timed out'],
  ['expired', 'expired'],
  ['cancelled', 'cancelled'],
  ['inProgress', 'in progress'],
  ['dispatched', 'dispatched'],
  ['queued', 'queued'],
]

function progressOf({ total, counts, status, held, heldReasons }: JobBatch): string {
  const open = (counts.queued ?? 0) + (counts.dispatched ?? 0) + (counts.inProgress ?? 0)
  const parts = words.flatMap(([name, word]) => (counts[name] ? [`${counts[name]} ${word}`] : []))
  const reasons = Object.entries(heldReasons).flatMap(([reason, count]) => (count ? [`${count} ${reason}`] : []))
  const waiting = held > 0 ? `, ${held} held (${reasons.join(', ')})` : ''
  return `${status}: ${total - open} of ${total} ended${parts.length > 0 ? ` (${parts.join(', ')})` : ''}${waiting}`
}
