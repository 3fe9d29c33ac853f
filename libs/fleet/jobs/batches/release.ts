import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { auditSystem } from '#fleet/audit/record'
import type { SystemContext } from '#fleet/context'
import { cancelSomeJobs } from '#fleet/jobs/batches/control'
import { type BatchStatus, jobOfBatchSql } from '#fleet/jobs/batches/read'
import { stageRanges } from '#fleet/jobs/model/batch-ids'
import type { JobDelivery } from '#fleet/jobs/model/good-moment'
import { earlierExpirySql, expiryMs } from '#fleet/jobs/model/lifetime'
import {
  type PauseReason,
  type Release,
  type Rollout,
  type RolloutFigures,
  rolloutStep,
  withinLastMinute,
} from '#fleet/jobs/model/rollout'
import { type Schedule, scheduleAt } from '#fleet/jobs/model/schedule'
import { type StageCounts, stagePosition } from '#fleet/jobs/model/stage-position'
import { type StageTimes, stageEnds } from '#fleet/jobs/model/stages'
import { wakeAllDevices } from '#fleet/jobs/notices'
import { type Connection, type Queryable, transaction } from '#postgres/pool'

/** A batch that a schedule or a rollout may hold back. */
type GatedBatch = Omit<RolloutFigures, 'stageEndedAtMs'> & {
  id: string
  organizationId: string
  status: BatchStatus
  schedule: Schedule | null
  delivery: JobDelivery | null
  rollout: Rollout | null
  windowOpen: boolean
  recentReleases: Release[]
  stageTimes: StageTimes[]
  /** Of a cancelled batch: `failures` if its rollout was aborted. */
  pauseReason: PauseReason | 'operator' | null
  /** The jobs that are not held are not the first ones of the batch. */
  isOutOfOrder: boolean
  /** When it was retried. Earlier failures are not in `failed`. */
  settledAt: Date | null
}

const columns = `b.id, b.organization_id AS "organizationId", b.status, b.schedule, b.delivery, b.rollout, b.window_open AS "windowOpen",
  b.recent_releases AS "recentReleases", b.stage_times AS "stageTimes", b.confirmed_stages AS "confirmedStages",
  b.accepted_failures AS "acceptedFailures", b.is_out_of_order AS "isOutOfOrder", b.pause_reason AS "pauseReason", b.total, b.held, b.queued + b.dispatched + b.in_progress - b.held AS open,
  b.succeeded, greatest(b.failed + b.timed_out + b.rejected - b.settled_failures, 0) AS failed, b.settled_at AS "settledAt"`

const gatedBatches = `
  SELECT ${columns} FROM job_batch b
  WHERE b.finished_at IS NULL
    AND (b.schedule IS NOT NULL AND b.status <> 'cancelled'
         OR b.status IN ('scheduled', 'running') AND (b.held > 0 OR b.rollout IS NOT NULL)
         OR b.status = 'cancelled' AND (b.queued + b.dispatched > 0 OR EXISTS (
           SELECT FROM job j WHERE ${jobOfBatchSql} AND j.status = 'inProgress' AND NOT j.cancel_requested)))`

/**
 * Advances every batch that has a schedule or a rollout, or was cancelled: opens and closes windows, releases as many held
 * jobs as the rollout allows, aborts batches with too many failures, and continues interrupted cancellations. Organizations
 * take turns. Returns how many jobs changed.
 *
 * A batch without a due step causes no query, so any number of batches can wait for their time; only the jobs of one that is out of
 * order are counted while it may release some. One call changes a limited number of jobs of a batch, because the relay of all organizations waits meanwhile.
 */
export async function releaseBatches(system: SystemContext, rounds: FairRounds = createFairRounds()): Promise<number> {
  const { rows } = await system.pool.query<GatedBatch>(gatedBatches)
  const byOrganization = Map.groupBy(rows, (batch) => batch.organizationId)
  return rounds.run({
    owners: [...byOrganization.keys()],
    workOf: (organizationId) =>
      (byOrganization.get(organizationId) ?? []).map((batch) => async () => ({
        changes: await advance(system, batch),
        hasMore: false,
      })),
    turnMs,
    roundMs,
  })
}

const turnMs = 250
const roundMs = 1_000

async function advance(system: SystemContext, batch: GatedBatch): Promise<number> {
  const { id, organizationId } = batch
  const nowMs = system.clock()
  if (batch.status !== 'cancelled' && !planStep(await withStageCounts(system.pool, batch, nowMs), nowMs).isDue) return 0
  const step = await transaction(system.pool, (connection) => stepBatch(connection, id, nowMs))
  if (step.status !== 'cancelled') return step.released
  const change = { by: 'system', nowMs, isAborted: step.isAborted ?? false }
  return step.released + (await cancelSomeJobs(system, { organizationId, batchId: id }, change))
}

type BatchStep = { status: BatchStatus; released: number; isAborted?: boolean }

/** The next step of a batch that is not cancelled, computed from its row, and from the counts of its stages if it is out of order. */
function planStep(batch: GatedBatch, nowMs: number) {
  const { started, open } = scheduleAt(batch.schedule, nowMs)
  const begins = batch.status === 'scheduled' && started && open
  if (!open || !isUnderWay(batch))
    return { open, begins, step: waits, endsStage: false, isDue: open !== batch.windowOpen }
  const figures = figuresOf(batch)
  const first = rolloutStep(batch.rollout ?? {}, figures, nowMs)
  const endsStage = first.action === 'endStage'
  const step = endsStage ? rolloutStep(batch.rollout ?? {}, { ...figures, stageEndedAtMs: nowMs }, nowMs) : first
  const acts = endsStage || step.action !== 'release' || step.count > 0
  return { open, begins, step, endsStage, isDue: acts || begins || open !== batch.windowOpen }
}

const isUnderWay = ({ status }: GatedBatch): boolean => status === 'running' || status === 'scheduled'

const waits = { action: 'release', count: 0, stage: 0, startsStage: false } as const

async function stepBatch(connection: Connection, batchId: string, nowMs: number): Promise<BatchStep> {
  // Without this lock, two workers would each release as many jobs as the rollout allows in total.
  const { rows: locks } = await connection.query<{ mine: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS mine',
    [batchId],
  )
  const { rows } = await connection.query<GatedBatch>(`SELECT ${columns} FROM job_batch b WHERE b.id = $1`, [batchId])
  if (!locks[0]?.mine || !rows[0]) return { status: 'running', released: 0 }
  const batch = await withStageCounts(connection, rows[0], nowMs)
  if (batch.status === 'cancelled')
    return { status: 'cancelled', released: 0, isAborted: batch.pauseReason === 'failures' }
  const { open, begins, step, endsStage } = planStep(batch, nowMs)
  if (step.action === 'abort') return abortBatch(connection, batch)
  if (endsStage) await storeStageTime(connection, batch, runningStage(batch), { endedAt: nowMs })
  if (step.action === 'pause') return pauseForRollout(connection, batch, step)
  if (step.action !== 'release') return { status: batch.status, released: 0 }
  const { released, expiresAt } = step.count > 0 ? await releaseJobs(connection, batch, step.count, nowMs) : none
  if (released > 0 && step.startsStage) await storeStageTime(connection, batch, step.stage, { startedAt: nowMs })
  await storeStep(connection, batch, { open, begins, released, expiresAt, nowMs })
  return { status: batch.status, released }
}

const figuresOf = (batch: GatedBatch): RolloutFigures => {
  const endedAt = batch.stageTimes[runningStage(batch)]?.endedAt
  return { ...batch, stageEndedAtMs: endedAt ? Date.parse(endedAt) : null }
}

const runningStage = (batch: GatedBatch): number => stagePosition(batch.rollout ?? {}, batch).stage

const isStaged = ({ rollout }: GatedBatch): boolean => rollout?.stages !== undefined || rollout?.canary !== undefined

/** Adds the counts of its stages to a batch that may release jobs now and whose place cannot be told from its counters. */
async function withStageCounts(db: Queryable, batch: GatedBatch, nowMs: number): Promise<GatedBatch> {
  const { id, organizationId, rollout, total, held, isOutOfOrder, schedule, settledAt } = batch
  const mayRelease = held > 0 && isUnderWay(batch) && scheduleAt(schedule, nowMs).open
  if (!isOutOfOrder || !isStaged(batch) || !mayRelease) return batch
  const { rows } = await db.query<StageCounts>(
    `SELECT s.held::int, s.open::int, s.failed::int
     FROM unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS stage (after, up_to, number) CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE hold = 'rollout') AS held,
         count(*) FILTER (WHERE hold IS DISTINCT FROM 'rollout' AND status IN ('queued', 'dispatched', 'inProgress')) AS open,
         count(*) FILTER (WHERE status IN ('failed', 'timedOut', 'rejected') AND ($5::timestamptz IS NULL OR finished_at > $5)) AS failed
       FROM job WHERE organization_id = $1 AND batch_id = $2 AND id > stage.after AND id <= stage.up_to) s
     ORDER BY stage.number`,
    [organizationId, id, ...stageRanges(id, stageEnds(rollout ?? {}, total)), settledAt],
  )
  return { ...batch, byStage: rows }
}

/** Records when a stage started or ended. */
async function storeStageTime(
  connection: Connection,
  batch: GatedBatch,
  stage: number,
  { startedAt, endedAt }: { startedAt?: number; endedAt?: number },
): Promise<void> {
  if (!isStaged(batch)) return
  const times = Array.from(
    { length: Math.max(stage + 1, batch.stageTimes.length) },
    (_, index) => batch.stageTimes[index] ?? { startedAt: null, endedAt: null },
  )
  const before = times[stage] ?? { startedAt: null, endedAt: null }
  times[stage] = {
    startedAt: startedAt === undefined ? before.startedAt : new Date(startedAt).toISOString(),
    endedAt: endedAt === undefined ? before.endedAt : new Date(endedAt).toISOString(),
  }
  batch.stageTimes = times
  await connection.query('UPDATE job_batch SET stage_times = $2 WHERE id = $1', [batch.id, JSON.stringify(times)])
}

const chunkSize = 5_000

/** How many jobs a step released, and when the first of them expires. */
type ReleasedJobs = { released: number; expiresAt: Date | null }

const none: ReleasedJobs = { released: 0, expiresAt: null }

/** Releases jobs. Their lifetime counts from now. */
async function releaseJobs(
  connection: Connection,
  { id, schedule, delivery }: GatedBatch,
  limit: number,
  nowMs: number,
): Promise<ReleasedJobs> {
  const { rows } = await connection.query<ReleasedJobs>(
    `WITH released AS (
       UPDATE job SET hold = NULL, enqueued_at = NULL,
         expires_at = $3::timestamptz + CASE WHEN $4 THEN 0 ELSE lifetime_s END * interval '1 second'
       WHERE id IN (
         SELECT j.id FROM job_batch b JOIN job j ON ${jobOfBatchSql}
         WHERE b.id = $1 AND j.status = 'queued' AND j.hold = 'rollout'
         ORDER BY j.id LIMIT $2 FOR UPDATE OF j SKIP LOCKED)
       RETURNING expires_at)
     SELECT count(*)::int AS released, min(expires_at) AS "expiresAt" FROM released`,
    [
      ...[id, Math.min(limit, chunkSize), new Date(expiryMs({ lifetimeS: 0, schedule, delivery }, nowMs))],
      delivery?.atLatest === 'expire',
    ],
  )
  return rows[0] ?? none
}

async function storeStep(
  connection: Connection,
  batch: GatedBatch,
  { open, begins, released, expiresAt, nowMs }: ReleasedJobs & { open: boolean; begins: boolean; nowMs: number },
): Promise<void> {
  if (!begins && released === 0 && open === batch.windowOpen) return
  const recent = batch.rollout?.maxPerMinute === undefined ? [] : withinLastMinute(batch.recentReleases, nowMs)
  if (released > 0 && batch.rollout?.maxPerMinute !== undefined) recent.push({ atMs: nowMs, count: released })
  await connection.query(
    `UPDATE job_batch b SET window_open = $2, held = held - $3, recent_releases = $4,
       status = CASE WHEN $5 AND status = 'scheduled' THEN 'running' ELSE status END,
       expires_at = ${earlierExpirySql('$6::timestamptz')}
     WHERE id = $1`,
    [batch.id, open, released, JSON.stringify(recent), begins, expiresAt],
  )
  if (open && !batch.windowOpen) await wakeAllDevices(connection)
}

async function pauseForRollout(
  connection: Connection,
  batch: GatedBatch,
  { because, stage }: { because: PauseReason; stage: number },
): Promise<BatchStep> {
  await connection.query(
    `UPDATE job_batch SET status = 'paused', pause_reason = $2 WHERE id = $1 AND finished_at IS NULL`,
    [batch.id, because],
  )
  await auditSystem(connection, {
    organizationId: batch.organizationId,
    action: 'job_batch.paused',
    subjectId: batch.id,
    detail: { because, stage: stage + 1, failed: batch.failed, total: batch.total },
  })
  return { status: 'paused', released: 0 }
}

async function abortBatch(connection: Connection, batch: GatedBatch): Promise<BatchStep> {
  const { rows } = await connection.query<{ detail: Record<string, number> }>(
    `WITH aborted AS (UPDATE job_batch SET status = 'cancelled', pause_reason = 'failures' WHERE id = $1 AND finished_at IS NULL)
     SELECT json_build_object('failed', failed, 'timedOut', timed_out, 'rejected', rejected, 'total', total) AS detail
     FROM job_batch WHERE id = $1`,
    [batch.id],
  )
  await auditSystem(connection, {
    organizationId: batch.organizationId,
    action: 'job_batch.aborted',
    subjectId: batch.id,
    detail: rows[0]?.detail ?? {},
  })
  return { status: 'cancelled', released: 0, isAborted: true }
}
