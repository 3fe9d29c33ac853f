import { Counter, type Registry } from 'prom-client'

/** Work that is due again and again. `run` must be safe on several workers at once and returns how much it changed. */
export type PeriodicTask = { name: string; everyMs: number; run: () => Promise<number> }

type Parts = { tasks: readonly PeriodicTask[]; registry: Registry; onError: (task: string, error: unknown) => void }

/** Runs every task `everyMs` after it last ended, the first time at once. Returns how to stop, which waits for them. */
export function startPeriodicTasks({ tasks, registry, onError }: Parts): { stop(): Promise<void> } {
  const runs = new Counter({
    name: 'periodic_task_runs_total',
    help: 'Runs of periodic tasks, by outcome.',
    labelNames: ['task', 'outcome'],
    registers: [registry],
  })
  const changes = new Counter({
    name: 'periodic_task_changes_total',
    help: 'How much periodic tasks changed: jobs expired, devices swept, webhooks delivered.',
    labelNames: ['task'],
    registers: [registry],
  })
  const stopping = Promise.withResolvers<void>()
  let stopped = false

  const pause = (ms: number) => {
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms)
    })
    return Promise.race([over, stopping.promise]).finally(() => clearTimeout(timer))
  }
  const repeat = async ({ name, everyMs, run }: PeriodicTask) => {
    while (!stopped) {
      try {
        changes.inc({ task: name }, await run())
        runs.inc({ task: name, outcome: 'done' })
      } catch (error) {
        runs.inc({ task: name, outcome: 'failed' })
        onError(name, error)
      }
      await pause(everyMs)
    }
  }
  const loops = tasks.map(repeat)
  return {
    async stop() {
      stopped = true
      stopping.resolve()
      await Promise.all(loops)
    },
  }
}
