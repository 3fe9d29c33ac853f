import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApp } from '../../apps/stack/apps.ts'
import type { DataFolder } from '../../apps/stack/data-folder.ts'
import type { StackServices } from '../../apps/stack/services.ts'
import { type Started, type Supervised, supervise } from '../../apps/stack/supervise.ts'

export const appNames = ['controlPlane', 'ingest', 'worker'] as const
type AppName = (typeof appNames)[number]

/** The apps as supervised processes, which are restarted when they exit, as with `npm start`. */
export type RunningApps = {
  pids(): Record<AppName, number>
  /** For each process that exited unexpectedly and each failed start: one sentence, and the end of the log. */
  unexpectedEnds(): readonly string[]
  /** Stops a process and resolves when its replacement responds. */
  restart(name: AppName, signal: NodeJS.Signals): Promise<void>
  /** Calls `listener` after a process was replaced. */
  onRestarted(listener: () => void): void
  stop(): Promise<void>
}

/** Starts ingest and the worker, then the control plane. */
export async function startApps(
  services: StackServices,
  folder: DataFolder,
  signal: AbortSignal,
): Promise<RunningApps> {
  const ends: string[] = []
  const expected = new Set<AppName>()
  const restarts = new Map<AppName, () => void>()
  const listeners: (() => void)[] = []
  const running = new Map<AppName, Supervised<Started>>()

  async function keep(name: AppName): Promise<void> {
    const [app] = services[name]
    if (!app) throw new Error(`No process of ${name} is planned.`)
    const part = await supervise(
      (stopped) => startApp(app, folder, AbortSignal.any([signal, stopped])),
      (event) => {
        if (event.kind === 'restarted') {
          for (const listener of listeners) listener()
          return restarts.get(name)?.()
        }
        if (expected.has(name)) return
        ends.push(
          event.kind === 'ended'
            ? `${name} ${event.how}. The end of its log:\n${endOfLog(app.name)}\n`
            : `${name} did not start: ${event.reason}`,
        )
      },
    )
    running.set(name, part)
  }
  const endOfLog = (app: string) => readFileSync(join(folder.logs, `${app}.log`), 'utf8').slice(-3_000)
  const stop = async () => {
    await Promise.all([...running.values()].map((part) => part.stop()))
  }
  const pidOf = (name: AppName) => running.get(name)?.current().pid ?? 0

  try {
    await Promise.all([keep('ingest'), keep('worker')])
    await keep('controlPlane')
  } catch (error) {
    await stop()
    throw error
  }
  return {
    pids: () => ({ controlPlane: pidOf('controlPlane'), ingest: pidOf('ingest'), worker: pidOf('worker') }),
    unexpectedEnds: () => ends,
    async restart(name, how) {
      expected.add(name)
      const restarted = new Promise<void>((resolve) => restarts.set(name, resolve))
      process.kill(pidOf(name), how)
      await restarted
      expected.delete(name)
    },
    onRestarted: (listener) => void listeners.push(listener),
    stop,
  }
}
