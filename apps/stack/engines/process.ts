import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile, rename, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'

/** A child process of ours; `exited` settles (never rejects) when it is gone, with a phrase saying how it ended. */
export type Running = { pid: number; exited: Promise<string>; kill(signal: NodeJS.Signals): void }

/** Signals to try in order, each with the time it is given before the next. */
export type StopPlan = readonly { signal: NodeJS.Signals; deadlineMs: number }[]

const maxLogBytes = 16 * 1024 * 1024

/**
 * Starts a program with stdout and stderr appended to `logFile`. It gets a process group of its own, so that a Ctrl-C
 * in the terminal reaches only the supervisor, which then stops everything in order. Throws when it cannot be started.
 */
export async function startProcess(
  command: string,
  args: string[],
  options: SpawnOptions & { logFile: string },
): Promise<Running> {
  const { logFile, ...spawnOptions } = options
  const log = await openLog(logFile)
  try {
    const child = spawn(command, args, { ...spawnOptions, stdio: ['ignore', log, log], detached: true })
    return await running(child, command)
  } finally {
    closeSync(log)
  }
}

/** Opens a log for appending; one that has grown large is first moved aside, so a data folder stays bounded. */
export async function openLog(path: string): Promise<number> {
  await mkdir(dirname(path), { recursive: true })
  const known = await stat(path).catch(() => undefined)
  if (known && known.size > maxLogBytes) await rename(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/** Waits until the operating system has started `child`; throws its reason (not found, not allowed) when it has not. */
export function running(child: ChildProcess, command: string): Promise<Running> {
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code}`))
  })
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`Cannot start ${command}: ${error.message}`)))
    child.once('spawn', () => resolve({ pid: child.pid ?? 0, exited, kill: (signal) => void child.kill(signal) }))
  })
}

/** Goes through the plan until the process is gone. */
export async function stopProcess(process: Running, plan: StopPlan): Promise<void> {
  for (const { signal, deadlineMs } of plan) {
    process.kill(signal)
    if (await within(process.exited, deadlineMs)) return
  }
}

/** True when `promise` settled before the deadline. */
export async function within(promise: Promise<unknown>, deadlineMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), deadlineMs)
  })
  try {
    return await Promise.race([promise.then(() => true), deadline])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Repeats `probe` until it succeeds. Throws a sentence with the end of the log when the process ends first or the
 * deadline passes.
 */
export async function waitUntilReady(
  name: string,
  process: Running,
  logFile: string,
  probe: () => Promise<void>,
  deadlineMs = 60_000,
): Promise<void> {
  let ended: string | undefined
  process.exited.then((how) => {
    ended = how
  })
  const deadline = Date.now() + deadlineMs
  while (Date.now() < deadline && ended === undefined) {
    try {
      await probe()
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const reason = ended ?? `was not ready within ${deadlineMs / 1000} s`
  throw new Error(`${name} ${reason}. The end of ${logFile}:\n${await endOf(logFile)}`)
}

async function endOf(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  return text.slice(-2000)
}

/** A port nobody listens on at this moment, chosen by the operating system. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, host, () => {
      const address = server.address()
      server.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
