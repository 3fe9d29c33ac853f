import { type Action, type ActionTools, failed, type Job, type Outcome, rejected } from './actions/action.ts'
import { actions as allActions } from './actions/table.ts'
import type { Backoff } from './backoff.ts'
import type { EdgeAnswer } from './edge-client.ts'
import type { JobRecord } from './state-file.ts'

/** `restart` is set when the router must restart now, for the job that was just done. */
export type JobTurn = { took: boolean; waitMs: number; restart?: { reason: string } }

export type JobRunner = {
  /** Reports what is done and not answered for yet; after a start that includes the result of the restart itself. */
  reportFinished: () => Promise<void>
  /** Asks for one job, waiting up to `waitSeconds` at the service, and does it. */
  takeOne: (waitSeconds: number) => Promise<JobTurn>
}

type RunnerOptions = Omit<ActionTools, 'progress'> & {
  backoff: Backoff
  pause: (ms: number) => Promise<void>
  isStopping: () => boolean
  actions?: Record<string, Action>
}

/** How many finished jobs are remembered against a second delivery. */
const rememberedJobs = 50
const reportTries = 5

/**
 * Takes jobs and does each (id, attempt) once. Delivery is at least once, so what was done is written down before it is
 * reported; a result the service has not answered for is reported again later, over restarts too.
 */
export function createJobRunner(options: RunnerOptions): JobRunner {
  const { edge, token, state, log, backoff, pause, isStopping, actions = allActions } = options

  const recordOf = (job: { id: string; attempt: number }) =>
    state.read().jobs.find((record) => record.id === job.id && record.attempt === job.attempt)

  function remember(record: JobRecord, change: Parameters<typeof state.update>[0] = {}): Promise<void> {
    const others = state.read().jobs.filter(({ id, attempt }) => id !== record.id || attempt !== record.attempt)
    return state.update({ ...change, jobs: [...others, record].slice(-rememberedJobs) })
  }

  /** Reports a final result until the service has answered for it, or the tries are used up. */
  async function deliver(record: JobRecord): Promise<void> {
    if (!record.report) return
    for (let attempt = 0; attempt < reportTries && !isStopping(); attempt += 1) {
      const answer = await edge.reportJob(token, record.id, { attempt: record.attempt, ...record.report })
      if (answer.status === 200 || isFinalRefusal(answer)) {
        log('job_reported', { job: record.id, kind: record.kind, status: record.report.status, answer: answer.status })
        await remember({ ...record, phase: 'done', reported: true })
        return
      }
      await pause(backoff.next(answer.retryAfterMs))
    }
    log('job_report_delayed', { job: record.id, kind: record.kind })
  }

  /** The outcome, or undefined when the service says at the outset that this attempt is no longer wanted. */
  async function perform(job: Job): Promise<Outcome | undefined> {
    const action = Object.hasOwn(actions, job.kind) ? actions[job.kind] : undefined
    if (!action) return rejected(`This router does not know the kind ${job.kind}.`)
    if (job.cancelRequested) return rejected('Called off before it began.')
    const reportProgress = (percent: number) =>
      edge.reportJob(token, job.id, { attempt: job.attempt, status: 'inProgress', progress: percent })
    const begun = await reportProgress(0)
    if (isFinalRefusal(begun)) return undefined
    if (isCancelled(begun)) return rejected('Called off before it began.')
    try {
      const progress = async (percent: number) => ({ cancelRequested: isCancelled(await reportProgress(percent)) })
      return await action(job, { ...options, progress })
    } catch (error) {
      return failed(error instanceof Error ? error.message.slice(0, 400) : 'unknown error')
    }
  }

  async function work(job: Job): Promise<JobTurn> {
    const known = recordOf(job)
    if (known) {
      await deliver(known)
      return { took: true, waitMs: 0 }
    }
    log('job_taken', { job: job.id, kind: job.kind, attempt: job.attempt })
    const record: JobRecord = { id: job.id, attempt: job.attempt, kind: job.kind, phase: 'running', reported: false }
    await remember(record)
    const outcome = await perform(job)
    if (!outcome) {
      await remember({ ...record, phase: 'done', reported: true })
      return { took: true, waitMs: 0 }
    }
    const { restart, ...report } = outcome
    if (restart) {
      const firmware = restart.firmware === undefined ? {} : { firmware: restart.firmware }
      await remember({ ...record, phase: 'restarting', report }, { ...firmware, restartReason: restart.reason })
      return { took: true, waitMs: 0, restart: { reason: restart.reason } }
    }
    const done: JobRecord = { ...record, phase: 'done', report }
    await remember(done)
    await deliver(done)
    return { took: true, waitMs: 0 }
  }

  return {
    async reportFinished() {
      for (const record of state.read().jobs) {
        if (record.reported) continue
        await deliver(
          record.report ? record : { ...record, report: failed('The router restarted before it was done.') },
        )
      }
    },
    async takeOne(waitSeconds) {
      const answer = await edge.nextJob(token, waitSeconds)
      if (answer.status === 200) {
        const job = readJob(answer.body)
        if (job) {
          backoff.reset()
          return work(job)
        }
      }
      if (answer.status === 204) backoff.reset()
      return { took: false, waitMs: answer.status === 204 ? 0 : backoff.next(answer.retryAfterMs) }
    },
  }
}

/** The service will never take this report: a newer attempt runs, the job has ended, or it is not ours any more. */
const isFinalRefusal = ({ status }: EdgeAnswer) => status === 400 || status === 404 || status === 409

const isCancelled = ({ body }: EdgeAnswer) =>
  typeof body === 'object' && body !== null && 'cancelRequested' in body && body.cancelRequested === true

function readJob(body: unknown): Job | undefined {
  const { id, kind, attempt, parameters, cancelRequested } = (body ?? {}) as Record<string, unknown>
  if (typeof id !== 'string' || typeof kind !== 'string' || typeof attempt !== 'number') return undefined
  const given = typeof parameters === 'object' && parameters !== null ? (parameters as Record<string, unknown>) : {}
  return { id, kind, attempt, parameters: given, cancelRequested: cancelRequested === true }
}
