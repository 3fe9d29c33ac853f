import { join, resolve } from 'node:path'
import type { DataFolder } from './data-folder.ts'
import { type ProcessOptions, startProcess, stopProcess, waitUntilReady } from './engines/process.ts'
import type { Started } from './supervise.ts'

const repository = resolve(import.meta.dirname, '../..')

export type App = {
  /** Its folder below apps/; also the name of its log and pid file. */
  name: string
  /** Entry point, relative to the repository. */
  script: string
  /**
   * Name the data folder: `ps` then tells several installations apart, and a later start recognizes by it what a killed
   * one left behind.
   */
  args: string[]
  environment: Record<string, string | undefined>
  /** Answers 200 when the app serves; an app without one is taken as started when its process is. */
  liveUrl?: string
}

/** An app finishes what is in flight within 10 s of SIGTERM by itself. */
const politeThenHard = [
  { signal: 'SIGTERM', deadlineMs: 15_000 },
  { signal: 'SIGKILL', deadlineMs: 5_000 },
] as const

/** Starts an app as a Node process of its own and resolves when it serves. */
export async function startApp(app: App, folder: DataFolder, signal: AbortSignal): Promise<Started> {
  const logFile = join(folder.logs, `${app.name}.log`)
  const pidFile = join(folder.run, app.name)
  const options: ProcessOptions = { cwd: repository, env: app.environment, logFile, pidFile, channel: true }
  const child = await startProcess(process.execPath, [app.script, ...app.args], options)
  const stop = () => stopProcess(child, politeThenHard, pidFile)
  const { liveUrl } = app
  try {
    if (liveUrl) await waitUntilReady(app.name, child, () => answersOk(liveUrl), { logFile, signal })
  } catch (error) {
    await stop()
    throw error
  }
  return { pid: child.pid, exited: child.exited, stop }
}

/** Throws unless `url` answers 200. */
export async function answersOk(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}.`)
}
