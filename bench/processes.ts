import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nodeFlags } from '../apps/stack/apps.ts'
import type { LoadOrder, LoadReport, LoadStart } from './load-worker.ts'

const ticksPerSecond = 100

/**
 * Starts a Node program in a session of its own, as `npm start` starts the apps. Linux shares the cores between sessions first: in
 * one session with the load, the apps together would get as much as one process of a database.
 */
export const forkAlone = (script: URL, options: ForkOptions): ChildProcess =>
  fork(fileURLToPath(script), { ...options, detached: true })

/**
 * Starts an app as `forkAlone` does, with the flags of `npm start`. Errors go to stderr, so that they do not mix with the figures on
 * stdout.
 */
export const forkApp = (
  app: 'control-plane' | 'gateway' | 'ingest' | 'worker' | 'writer',
  environment: Record<string, string>,
  nodeArguments: readonly string[] = [],
): ChildProcess =>
  forkAlone(new URL(`../apps/${app}/main.ts`, import.meta.url), {
    execArgv: [...nodeFlags, ...nodeArguments],
    env: { ...process.env, ...environment },
    stdio: ['ignore', 2, 'inherit', 'ipc'],
  })

/** A child process with its port. */
export type ServerProcess = { port: number; pid: number; stop: () => Promise<void> }

/** Starts a server script, which sends `{port}` to its parent when it listens. */
export async function startServerProcess(
  script: string,
  environment: Record<string, string> = {},
): Promise<ServerProcess> {
  const child = forkAlone(new URL(script, import.meta.url), {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port))
    child.once('exit', (code) => reject(new Error(`${script} ended with code ${code}`)))
  })
  return { port, pid: child.pid ?? 0, stop: () => stopChild(child) }
}

/** Stops a child with SIGTERM and waits for its exit. */
export const stopChild = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })

/** A load process that has read its requests. Sending them once ends it. */
export type PreparedLoad = { send(port: number, options?: { mayRefuse?: boolean | undefined }): Promise<LoadReport> }

/** Starts a load process for one order. Resolves when it can send. */
export async function prepareLoad(order: LoadOrder): Promise<PreparedLoad> {
  const child = forkAlone(new URL('./load-worker.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const next = <Message>(message: LoadOrder | LoadStart) =>
    new Promise<Message>((resolve, reject) => {
      const fail = (code: number | null) => reject(new Error(`The load process ended with code ${code}`))
      child.once('exit', fail)
      child.once('message', (answer) => {
        child.off('exit', fail)
        resolve(answer as Message)
      })
      child.send(message)
    })
  await next(order)
  return {
    async send(port, { mayRefuse = false } = {}) {
      const report = await next<LoadReport>({ port })
      child.kill()
      if (report.refused > 0 && !mayRefuse)
        throw new Error(`${report.refused} of ${report.accepted + report.refused} requests were refused`)
      return report
    },
  }
}

/** Sends one order from a separate load process. Throws on any response other than 202, unless `mayRefuse`. */
export async function applyLoad(
  { port, ...order }: LoadOrder & LoadStart,
  options: { mayRefuse?: boolean | undefined } = {},
): Promise<LoadReport> {
  return (await prepareLoad(order)).send(port, options)
}

/** Returns the CPU seconds of a process and all its descendants so far (Linux; 0 elsewhere). */
export function cpuSecondsOfTree(pid: number): number {
  const parents = new Map<number, number[]>()
  const ticks = new Map<number, number>()
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch {
    return 0
  }
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'latin1')
        .replace(/^.*\) /, '')
        .split(' ')
      parents.set(Number(fields[1]), [...(parents.get(Number(fields[1])) ?? []), Number(name)])
      ticks.set(Number(name), Number(fields[11]) + Number(fields[12]))
    } catch {
      // The process exited after it was listed.
    }
  }
  const sum = (id: number): number =>
    (ticks.get(id) ?? 0) + (parents.get(id) ?? []).reduce((total, child) => total + sum(child), 0)
  return sum(pid) / ticksPerSecond
}

/**
 * Returns the memory of a process and its children: heaps and shared buffers (Linux; NaN elsewhere). Data files that QuestDB
 * maps are not counted, because they grow with the data and the system can evict them. Memory that several processes share,
 * such as the buffers of Postgres, counts once. 0 if the process has exited.
 */
export function ownMegabytes(pid: number): number {
  if (!existsSync('/proc/self/smaps_rollup')) return Number.NaN
  const kilobytes = treeOf(pid).flatMap((one) =>
    [...textOf(`/proc/${one}/smaps_rollup`).matchAll(/^Pss_(?:Anon|Shmem):\s+(\d+) kB/gm)].map(([, size]) =>
      Number(size),
    ),
  )
  return Math.round(kilobytes.reduce((sum, size) => sum + size, 0) / 1024)
}

const treeOf = (pid: number): number[] => {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(treeOf)]
}

/** Empty if the process has exited. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
