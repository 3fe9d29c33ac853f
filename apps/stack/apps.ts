import { join, resolve } from 'node:path'
import type { DataFolder } from './data-folder.ts'
import { type ProcessOptions, startProcess, stopProcess, waitUntilReady } from './engines/process.ts'
import type { Started } from './supervise.ts'

const repository = resolve(import.meta.dirname, '../..')

export type App = {
  /** The folder in apps/, numbered if there are several copies: the name of the log and pid files. */
  name: string
  /** Entry point, relative to the repository. */
  script: string
  /**
   * Contains the data folder, so that `ps` distinguishes installations and a later start recognizes the processes that a
   * killed start left.
   */
  args: string[]
  environment: Record<string, string | undefined>
  /** Responds with 200 when the app serves requests. An app without it counts as started when its process runs. */
  liveUrl?: string
}

/**
 * V8 starts with a young generation of 1 MiB, which it fills and collects up to three times a second in a service that serves
 * 20 reports a second. Only many surviving objects enlarge it. Each writer thread has one: with the default of at most 16 MiB,
 * ingest grows by 337 instead of 238 MiB under reports of 1,000 fixes each.
 */
export const nodeFlags = ['--min-semi-space-size=8', '--max-semi-space-size=8']

/** After SIGTERM, an app finishes requests in progress within 10 s. */
const termThenKill = [
  { signal: 'SIGTERM', deadlineMs: 15_000 },
  { signal: 'SIGKILL', deadlineMs: 5_000 },
] as const

/** Starts an app as a separate Node process. Resolves when it serves requests. */
export async function startApp(app: App, folder: DataFolder, signal: AbortSignal): Promise<Started> {
  const logFile = join(folder.logs, `${app.name}.log`)
  const pidFile = join(folder.run, app.name)
  const options: ProcessOptions = { cwd: repository, env: app.environment, logFile, pidFile, channel: true }
  const child = await startProcess(process.execPath, [...nodeFlags, app.script, ...app.args], options)
  const stop = () => stopProcess(child, termThenKill, pidFile)
  const { liveUrl } = app
  try {
    if (liveUrl) await waitUntilReady(app.name, child, () => answersOk(liveUrl), { logFile, signal })
  } catch (error) {
    await stop()
    throw error
  }
  return { pid: child.pid, exited: child.exited, stop }
}

/** Throws unless `url` responds with 200. */
export async function answersOk(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${url} responded with ${response.status}.`)
}
