import {
  type Action,
  type ActionOutcome,
  type ActionTools,
  failed,
  type ReceivedJob,
  rejected,
} from './actions/action.ts'
import { actions as allActions } from './actions/table.ts'
import type { Backoff } from './backoff.ts'
import type { EdgeAnswer } from './edge-client.ts'
import type { ProfileReporter } from './profile/profile-reporter.ts'
import { interrupted, type JobRecord, rolledBackCode } from './state-file.ts'

/** `hasRun`: there was a job. `waitMs`: the delay before the next call. `restart`: the router must restart now for the job. */
type JobTurn = { hasRun: boolean; waitMs: number; restart?: { reason: string } }

export type JobRunner = {
  /** Reports finished jobs that the service has not confirmed; after a start, also the job that requested the restart. */
  reportFinished: () => Promise<void>
  /** Requests one job with a long poll of `waitSeconds`, and runs it. */
  takeOne: (waitSeconds: number) => Promise<JobTurn>
}

type RunnerOptions = Omit<ActionTools, 'progress'> & {
  backoff: Backoff
  pause: (ms: number) => Promise<void>
  isStopping: () => boolean
  reporter: ProfileReporter
  actions?: Record<string, Action>
}

/** How many finished jobs are recorded, to detect a second delivery. */
const maxRecords = 50
const reportAttempts = 5

/**
 * Takes jobs and runs each (id, attempt) once. Delivery is at least once, so the result is stored before it is reported. A
 * result that the service has not confirmed is reported again, also after a restart. A next attempt of a job that was rolled back
 * has the same result, unless the service has confirmed it.
 */
// Long because each step of a job reads and changes the same records and reports.
export function createJobRunner(options: RunnerOptions): JobRunner {
  const { edge, token, state, trial, reporter, log, backoff, pause, isStopping, actions = allActions } = options

  const recordOf = (job: { id: string; attempt: number }) =>
    state.read().jobs.find((record) => record.id === job.id && record.attempt === job.attempt)

  function saveRecord(record: JobRecord, change: Parameters<typeof state.update>[0] = {}): Promise<void> {
    const others = state.read().jobs.filter(({ id, attempt }) => id !== record.id || attempt !== record.attempt)
    return state.update({ ...change, jobs: [...others, record].slice(-maxRecords) })
  }

  /** The report of an earlier attempt of the job that was rolled back, unless the service knows of it. */
  const unknownRollBack = (job: ReceivedJob) =>
    state
      .read()
      .jobs.findLast(
        ({ id, attempt, report, isRollBackKnown }) =>
          id === job.id && attempt < job.attempt && report?.code === rolledBackCode && !isRollBackKnown,
      )?.report

  const noteKnownRollBack = ({ id }: JobRecord) =>
    state.update({ jobs: state.read().jobs.map((job) => (job.id === id ? { ...job, isRollBackKnown: true } : job)) })

  /** Reports a final result until the service has confirmed or refused it, at most five times. */
  async function deliver(job: JobRecord): Promise<void> {
    const { id, kind } = job
    for (let tries = 0; tries < reportAttempts && !isStopping(); tries += 1) {
      const record = recordOf(job)
      if (!record?.report) return
      const answer = await edge.reportJob(token, id, { attempt: record.attempt, ...record.report })
      await trial.settle()
      // A roll-back during the call has replaced the report.
      if (recordOf(job)?.report !== record.report) continue
      const { code, ...older } = record.report
      if (answer.status === 400 && code !== undefined) {
        // A service of an older version does not know the member.
        await saveRecord({ ...record, report: older })
      } else if (answer.status === 200 || isFinalRefusal(answer)) {
        log('job_reported', { job: id, kind, status: record.report.status, answer: answer.status })
        if (kind === 'apply_config') reporter.request()
        await saveRecord({ ...record, phase: 'done', reported: true })
        if (answer.status === 200 && code === rolledBackCode) await noteKnownRollBack(job)
        await reporter.reportWhenDue()
        return
      } else {
        await pause(backoff.next(answer.retryAfterMs))
      }
    }
    log('job_report_delayed', { job: id, kind })
  }

  /** Runs a job. Returns undefined when the service refuses this attempt before it starts. */
  async function perform(job: ReceivedJob): Promise<ActionOutcome | undefined> {
    const action = Object.hasOwn(actions, job.kind) ? actions[job.kind] : undefined
    if (!action) return rejected(`This router does not support the job kind ${job.kind}.`)
    if (job.cancelRequested) return rejected('Cancelled before the start.')
    const reportProgress = (percent: number) =>
      edge.reportJob(token, job.id, { attempt: job.attempt, status: 'inProgress', progress: percent })
    const response = await reportProgress(0)
    if (isFinalRefusal(response)) return undefined
    if (isCancelled(response)) return rejected('Cancelled before the start.')
    try {
      const progress = async (percent: number) => ({ cancelRequested: isCancelled(await reportProgress(percent)) })
      return await action(job, { ...options, progress })
    } catch (error) {
      return failed(error instanceof Error ? error.message.slice(0, 400) : 'unknown error')
    }
  }

  async function runOnce(job: ReceivedJob): Promise<JobTurn> {
    const known = recordOf(job)
    if (known) {
      await deliver(known)
      return { hasRun: true, waitMs: 0 }
    }
    const rolledBack = unknownRollBack(job)
    if (rolledBack) {
      // The same profile would cut the router off again.
      const done: JobRecord = {
        id: job.id,
        attempt: job.attempt,
        kind: job.kind,
        phase: 'done',
        report: rolledBack,
        reported: false,
      }
      log('job_rolled_back_before', { job: job.id, attempt: job.attempt })
      await saveRecord(done)
      await deliver(done)
      return { hasRun: true, waitMs: 0 }
    }
    log('job_taken', { job: job.id, kind: job.kind, attempt: job.attempt })
    const record: JobRecord = { id: job.id, attempt: job.attempt, kind: job.kind, phase: 'running', reported: false }
    await saveRecord(record)
    const outcome = await perform(job)
    if (!outcome) {
      await saveRecord({ ...record, phase: 'done', reported: true })
      return { hasRun: true, waitMs: 0 }
    }
    const { restart, ...report } = outcome
    if (restart) {
      const firmware = restart.firmware === undefined ? {} : { firmware: restart.firmware }
      await saveRecord({ ...record, phase: 'restarting', report }, { ...firmware, restartReason: restart.reason })
      return { hasRun: true, waitMs: 0, restart: { reason: restart.reason } }
    }
    const done: JobRecord = { ...record, phase: 'done', report }
    await saveRecord(done)
    trial.watch()
    await deliver(done)
    return { hasRun: true, waitMs: 0 }
  }

  return {
    async reportFinished() {
      for (const record of state.read().jobs) {
        if (record.reported) continue
        if (!record.report) await saveRecord({ ...record, report: interrupted() })
        await deliver(record)
      }
    },
    async takeOne(waitSeconds) {
      const answer = await edge.nextJob(token, waitSeconds)
      if (answer.status === 200) {
        const job = readJob(answer.body)
        if (job) {
          backoff.reset()
          return runOnce(job)
        }
      }
      if (answer.status === 204) backoff.reset()
      return { hasRun: false, waitMs: answer.status === 204 ? 0 : backoff.next(answer.retryAfterMs) }
    },
  }
}

/** The service will never accept this report: there is a newer attempt, or the job has ended or belongs to another device. */
const isFinalRefusal = ({ status }: EdgeAnswer) => status === 400 || status === 404 || status === 409

const isCancelled = ({ body }: EdgeAnswer) =>
  typeof body === 'object' && body !== null && 'cancelRequested' in body && body.cancelRequested === true

function readJob(body: unknown): ReceivedJob | undefined {
  const { id, kind, attempt, parameters, cancelRequested } = (body ?? {}) as Record<string, unknown>
  if (typeof id !== 'string' || typeof kind !== 'string' || typeof attempt !== 'number') return undefined
  const given = typeof parameters === 'object' && parameters !== null ? (parameters as Record<string, unknown>) : {}
  return { id, kind, attempt, parameters: given, cancelRequested: cancelRequested === true }
}
