import { Counter, type Registry } from 'prom-client'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { repeat } from '#core/schedule'
import { isStoreUnavailable } from '#postgres/errors'

/**
 * Work that is repeated. `run` must be safe on several workers at the same time; it returns the number of its changes. `rounds`
 * shares the runs between organizations.
 */
export type PeriodicTask = { name: string; everyMs: number; run: (rounds: FairRounds) => Promise<number> }

type Parts = {
  tasks: readonly PeriodicTask[]
  registry: Registry
  /** Receives the error of a run. */
  onError: (task: string, error: unknown) => void
  turnFailures: TurnFailures
}

/** Returns what receives the errors of single organizations in a task that continues with the others. */
type TurnFailures = (task: string) => (error: unknown, organizationId: string) => void

/** Counts the failures of single organizations, from 0 for each task, before they reach `onError`. */
export function countTurnFailures(
  registry: Registry,
  onError: (task: string, error: unknown, organizationId: string) => void,
): TurnFailures {
  const failures = new Counter({
    name: 'worker_failed_turns_total',
    help: 'Failures of single organizations in tasks of the worker, which continue with the others.',
    labelNames: ['task'],
    registers: [registry],
  })
  return (task) => {
    failures.inc({ task }, 0)
    return (error, organizationId) => {
      failures.inc({ task })
      onError(task, error, organizationId)
    }
  }
}

/** Runs every task at once and then `everyMs` after its last run ended. `stop` waits for the runs in progress. */
export function startPeriodicTasks({ tasks, registry, onError, turnFailures }: Parts): { stop(): Promise<void> } {
  const runs = new Counter({
    name: 'periodic_task_runs_total',
    help: 'Runs of periodic tasks, by outcome.',
    labelNames: ['task', 'outcome'],
    registers: [registry],
  })
  const changes = new Counter({
    name: 'periodic_task_changes_total',
    help: 'Changes made by periodic tasks: jobs expired, devices marked offline, webhooks delivered.',
    labelNames: ['task'],
    registers: [registry],
  })
  const repeating = tasks.map(({ name, everyMs, run }) => {
    const rounds = createFairRounds({ onError: turnFailures(name), isUnavailable: isStoreUnavailable })
    const runOnce = async () => {
      changes.inc({ task: name }, await run(rounds))
      runs.inc({ task: name, outcome: 'done' })
    }
    return repeat(everyMs, runOnce, (error) => {
      runs.inc({ task: name, outcome: 'failed' })
      onError(name, error)
    })
  })
  return {
    async stop() {
      await Promise.all(repeating.map((task) => task.stop()))
    },
  }
}
