import { type SpawnOptions, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'

/** A child process of ours; `exited` settles (never rejects) when it is gone, with a phrase saying how it ended. */
export type Running = { pid: number; exited: Promise<string>; kill(signal: NodeJS.Signals): void }

/** Signals to try in order, each with the time it is given before the next. */
export type StopPlan = readonly { signal: NodeJS.Signals; deadlineMs: number }[]

export type ProcessOptions = Omit<SpawnOptions, 'stdio' | 'detached'> & {
  /** Receives stdout and stderr. */
  logFile: string
  /** Holds the process id while it runs, for a later start to find it should we be killed. */
  pidFile: string
  /** Opens an IPC channel: the child learns of our death by its closing. */
  channel?: boolean
}

// A small machine under load needs a minute for what takes two seconds otherwise.
const defaultDeadlineMs = 180_000

/**
 * Starts a program in a process group of its own, so that a Ctrl-C in the terminal reaches only the supervisor, which
 * then stops everything in order. Throws one sentence when the program cannot be started.
 */
export async function startProcess(command: string, args: string[], options: ProcessOptions): Promise<Running> {
  const { logFile, pidFile, channel, ...spawnOptions } = options
  await mkdir(dirname(logFile), { recursive: true })
  const log = openSync(logFile, 'a', 0o600)
  try {
    const stdio: SpawnOptions['stdio'] = ['ignore', log, log, ...(channel ? (['ipc'] as const) : [])]
    const child = spawn(command, args, { ...spawnOptions, stdio, detached: true })
    const exited = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`))
    })
    await new Promise<void>((resolve, reject) => {
      child.once('error', (error) => reject(new Error(`Cannot start ${command}: ${error.message}`)))
      child.once('spawn', resolve)
    })
    const pid = child.pid ?? 0
    await mkdir(dirname(pidFile), { recursive: true })
    await writeFile(pidFile, `${pid}\n`)
    return { pid, exited, kill: (signal) => void child.kill(signal) }
  } finally {
    closeSync(log)
  }
}

/** Goes through the plan until the process is gone, then forgets its pid file. */
export async function stopProcess(process: Running, plan: StopPlan, pidFile: string): Promise<void> {
  for (const { signal, deadlineMs } of plan) {
    process.kill(signal)
    if (await within(process.exited, deadlineMs)) break
  }
  await rm(pidFile, { force: true })
}

/** True when `promise` settled before the deadline. */
async function within(promise: Promise<unknown>, deadlineMs: number): Promise<boolean> {
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
 * Repeats `probe` until it succeeds. Throws a sentence with the end of the log when the process ends first, the
 * deadline passes or `signal` aborts.
 */
export async function waitUntilReady(
  name: string,
  process: Running,
  probe: () => Promise<void>,
  options: { logFile: string; signal?: AbortSignal | undefined; deadlineMs?: number },
): Promise<void> {
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs
  let ended: string | undefined
  process.exited.then((how) => {
    ended = how
  })
  const giveUpAt = Date.now() + deadlineMs
  while (ended === undefined && Date.now() < giveUpAt && !options.signal?.aborted) {
    try {
      await probe()
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  if (options.signal?.aborted) throw new Error(`${name} was stopped while starting.`)
  const reason = ended ?? `was not ready within ${deadlineMs / 1000} s`
  throw new Error(`${name} ${reason}. The end of ${options.logFile}:\n${await endOf(options.logFile)}`)
}

async function endOf(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  return text.slice(-2000).trim()
}

// Below the range operating systems take the ports of outgoing connections from: a part that restarts finds its port free.
const lowestPort = 20_000
const highestPort = 32_000
const given = new Set<number>()

/** A port nobody listens on at this moment, never the same one twice in the life of this process. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(lowestPort, highestPort)
    if (given.has(port) || !(await isFree(port))) continue
    keepForItself(port)
    return port
  }
  throw new Error(`No port between ${lowestPort} and ${highestPort} is free.`)
}

/** `freePort` never gives this port away. */
export const keepForItself = (port: number): void => void given.add(port)

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const listening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
  await new Promise((resolve) => server.close(resolve))
  return listening
}
