import type { HeldReason } from '#fleet/jobs/model/good-moment'

/**
 * The state machine of one job, as a pure function. Verbs lock the row, call `decide` and write its decision; nothing else
 * changes a job. docs/jobs.md describes states and rules.
 */
export const jobStatuses = [
  'queued',
  'dispatched',
  'inProgress',
  'succeeded',
  'failed',
  'timedOut',
  'cancelled',
  'expired',
  'rejected',
] as const
export type JobStatus = (typeof jobStatuses)[number]

/** The statuses a device may report for a job it took. */
export const reportedStatuses = ['inProgress', 'succeeded', 'failed', 'rejected'] as const
type ReportedStatus = (typeof reportedStatuses)[number]

const openStatuses = ['queued', 'dispatched', 'inProgress'] as const satisfies JobStatus[]

export const isFinal = (status: JobStatus): boolean => !(openStatuses as readonly JobStatus[]).includes(status)

type JobError = { code: string; detail: string | null }

/** The part of a job that the state machine reads and changes. Times are milliseconds since the epoch. */
export type JobState = {
  status: JobStatus
  attempt: number
  maxAttempts: number
  /** A retry is not dispatched before this time. */
  notBeforeMs: number | null
  /** The device must report the end of a taken job by this time. */
  deadlineAtMs: number | null
  /** The device must take the job by this time, unless the job is held back. */
  expiresAtMs: number
  /** The batch of the job holds it back: it waits for its start, window, stage or turn, or the batch is paused. */
  isHeldBack: boolean
  /** Why the device may not take it yet, although it is due: the good moment that it waits for has not come. */
  heldBecause: HeldReason | null
  cancelRequested: boolean
  /** The device has confirmed this attempt, so it is not handed out again. */
  acknowledged: boolean
  progress: number | null
  result: unknown
  error: JobError | null
}

/** A device's report on one attempt of a job. */
export type JobReport = {
  attempt: number
  status: ReportedStatus
  progress?: number | undefined
  /** Of the error, instead of the status. */
  code?: string | undefined
  detail?: unknown
}

type WithdrawalReason = 'deviceGone' | 'deviceDisabled' | 'profileGone'

export type JobEvent =
  | { type: 'dispatch'; attempt: number }
  | { type: 'take'; timeoutMs: number }
  | { type: 'recall' }
  | { type: 'report'; report: JobReport }
  /** `expiresAtMs`: the expiry of a next attempt, if that has to wait for the window of its batch. */
  | { type: 'deadline'; attempt: number; expiresAtMs?: number }
  | { type: 'expire' }
  /** `isAborted`: the rollout of its batch was aborted; otherwise an operator cancels it. */
  | { type: 'cancel'; isAborted?: boolean }
  | { type: 'withdraw'; because: WithdrawalReason }
  | { type: 'retry'; maxAttempts: number; expiresAtMs: number }

export type Refusal = 'staleAttempt' | 'final' | 'notFinal' | 'notTaken' | 'notDue' | 'unavailable'

/** `same`: the event is allowed and has no effect, for example when it is delivered twice. */
type Decision = { outcome: 'changed'; job: JobState } | { outcome: 'same' } | { outcome: Refusal }

const same: Decision = { outcome: 'same' }
const refused = (outcome: Refusal): Decision => ({ outcome })
const changed = (job: JobState, change: Partial<JobState>): Decision => ({
  outcome: 'changed',
  job: { ...job, ...change },
})
const ended = (job: JobState, status: JobStatus, error: JobError | null = null): Decision =>
  changed(job, { status, error, deadlineAtMs: null, notBeforeMs: null })

const noMoment: Record<HeldReason, string> = {
  noSignal: 'it reported no signal in the last 2 minutes',
  signalTooWeak: 'its signal was too weak',
  notDwelling: 'it did not dwell',
}
const expiredBecause = ({ heldBecause, attempt }: JobState): JobError => ({
  code: 'expired',
  detail: heldBecause
    ? `The job waited for a good moment of the device and expired: ${noMoment[heldBecause]}.`
    : `The device did not take ${attempt === 1 ? 'the job' : `attempt ${attempt} of the job`} before it expired.`,
})
const overdue: JobError = {
  code: 'deadline_exceeded',
  detail: 'The device took the job and did not report its end in time.',
}
const disabled: JobError = { code: 'device_disabled', detail: 'The device was disabled.' }
const deviceGone: JobError = { code: 'device_gone', detail: 'The device was deleted or left the organization.' }
const aborted: JobError = {
  code: 'rollout_aborted',
  detail: 'The rollout was aborted: too many jobs failed, or none of the first stage succeeded.',
}
const profileGone: JobError = {
  code: 'profile_gone',
  detail: 'The version of the profile no longer exists. The device did not receive it.',
}

const firstBackOffMs = 30_000
const longestBackOffMs = 15 * 60_000

/** The delay before attempt `attempt + 1` after attempt `attempt` was lost: 30 s, doubling, at most 15 min. */
export const backOffMs = (attempt: number): number =>
  Math.min(firstBackOffMs * 2 ** Math.min(attempt - 1, 20), longestBackOffMs)

const isExpired = ({ isHeldBack, expiresAtMs }: JobState, atMs: number): boolean => !isHeldBack && expiresAtMs <= atMs

/** Decides how `event` changes `job` at `nowMs`. Never throws; a refusal does not change the job. */
export function decide(job: JobState, event: JobEvent, nowMs: number): Decision {
  switch (event.type) {
    case 'dispatch':
      return dispatched(job, event.attempt, nowMs)
    case 'take':
      return taken(job, event.timeoutMs, nowMs)
    case 'recall':
      return job.status === 'dispatched' ? changed(job, { status: 'queued' }) : refused('unavailable')
    case 'report':
      return reported(job, event.report)
    case 'deadline':
      return missedDeadline(job, event, nowMs)
    case 'expire':
      return (job.status === 'queued' || job.status === 'dispatched') && isExpired(job, nowMs)
        ? ended(job, 'expired', expiredBecause(job))
        : refused('notDue')
    case 'cancel':
      return cancelled(job, event.isAborted)
    case 'withdraw':
      return withdrawn(job, event.because)
    case 'retry':
      return retried(job, event)
  }
}

function dispatched(job: JobState, attempt: number, nowMs: number): Decision {
  if (isFinal(job.status)) return refused('final')
  if (attempt !== job.attempt) return refused('staleAttempt')
  if (job.status !== 'queued') return same
  if (isExpired(job, nowMs)) return ended(job, 'expired', expiredBecause(job))
  if (job.notBeforeMs !== null && job.notBeforeMs > nowMs) return refused('notDue')
  return changed(job, { status: 'dispatched', notBeforeMs: null })
}

function taken(job: JobState, timeoutMs: number, nowMs: number): Decision {
  if (job.status === 'inProgress' && !job.acknowledged) return same
  if (job.status !== 'dispatched') return refused('unavailable')
  if (isExpired(job, nowMs)) return ended(job, 'expired', expiredBecause(job))
  return changed(job, { status: 'inProgress', deadlineAtMs: nowMs + timeoutMs })
}

function reported(job: JobState, { attempt, status, progress, code, detail }: JobReport): Decision {
  if (attempt !== job.attempt) return refused('staleAttempt')
  if (isFinal(job.status)) return status === job.status ? same : refused('final')
  if (job.status !== 'inProgress') return refused('notTaken')
  if (status === 'inProgress') {
    const hasProgressed = progress !== undefined && progress !== job.progress
    return job.acknowledged && !hasProgressed
      ? same
      : changed(job, { acknowledged: true, progress: progress ?? job.progress })
  }
  if (status === 'succeeded') {
    return changed(job, { status, progress: 100, result: detail ?? null, error: null, deadlineAtMs: null })
  }
  const error = { code: code ?? status, detail: typeof detail === 'string' ? detail : null }
  const result = typeof detail === 'string' ? null : (detail ?? null)
  return changed(job, { status, progress: progress ?? job.progress, result, error, deadlineAtMs: null })
}

type Deadline = { attempt: number; expiresAtMs?: number }

function missedDeadline(job: JobState, { attempt, expiresAtMs = job.expiresAtMs }: Deadline, nowMs: number): Decision {
  if (isFinal(job.status)) return refused('final')
  if (attempt !== job.attempt) return refused('staleAttempt')
  if (job.status !== 'inProgress' || job.deadlineAtMs === null || job.deadlineAtMs > nowMs) return refused('notDue')
  const retryAtMs = nowMs + backOffMs(job.attempt)
  if (job.attempt >= job.maxAttempts || job.cancelRequested || isExpired({ ...job, expiresAtMs }, retryAtMs)) {
    return ended(job, 'timedOut', overdue)
  }
  return changed(job, {
    status: 'queued',
    attempt: job.attempt + 1,
    notBeforeMs: retryAtMs,
    deadlineAtMs: null,
    expiresAtMs,
    acknowledged: false,
    progress: null,
  })
}

function cancelled(job: JobState, isAborted = false): Decision {
  if (isFinal(job.status)) return refused('final')
  if (job.status !== 'inProgress') return ended(job, 'cancelled', isAborted ? aborted : null)
  return job.cancelRequested ? same : changed(job, { cancelRequested: true })
}

function withdrawn(job: JobState, because: WithdrawalReason): Decision {
  if (isFinal(job.status)) return refused('final')
  if (because === 'deviceGone') return ended(job, 'cancelled', deviceGone)
  if (because === 'profileGone') return ended(job, 'rejected', profileGone)
  // A disabled device may still be running the job; the deadline ends it.
  return job.status === 'inProgress' ? same : ended(job, 'rejected', disabled)
}

function retried(job: JobState, { maxAttempts, expiresAtMs }: { maxAttempts: number; expiresAtMs: number }): Decision {
  if (!isFinal(job.status)) return refused('notFinal')
  if (job.status === 'succeeded') return refused('final')
  return changed(job, {
    status: 'queued',
    attempt: job.attempt + 1,
    maxAttempts: job.attempt + maxAttempts,
    notBeforeMs: null,
    deadlineAtMs: null,
    expiresAtMs,
    cancelRequested: false,
    acknowledged: false,
    progress: null,
    result: null,
    error: null,
  })
}
