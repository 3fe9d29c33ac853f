import { Counter, type Registry } from 'prom-client'
import { repeat } from '#core/schedule'

/** Work that is repeated. `run` must be safe on several workers at the same time; it returns the number of its changes. */
export type PeriodicTask = { name: string; everyMs: number; run: () => Promise<number> }

type Parts = { tasks: readonly PeriodicTask[]; registry: Registry; onError: (task: string, error: unknown) => void }

/** Runs every task at once and then `everyMs` after its last run ended. `stop` waits for the runs in progress. */
export function startPeriodicTasks({ tasks, registry, onError }: Parts): { stop(): Promise<void> } {
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
    const runOnce = async () => {
      changes.inc({ task: name }, await run())
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
