import { type SpawnOptions, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { dirname } from 'node:path'

/** A child process. `exited` resolves with a phrase that says how the process ended. It never rejects. */
export type Running = { pid: number; exited: Promise<string>; kill(signal: NodeJS.Signals): void }

/** Signals to send in order, each with the time to wait before the next. */
export type StopPlan = readonly { signal: NodeJS.Signals; deadlineMs: number }[]

export type ProcessOptions = Omit<SpawnOptions, 'stdio' | 'detached'> & {
  /** Receives stdout and stderr. */
  logFile: string
  /** Contains the process id while the process runs, so that a later start can find it if this process is killed. */
  pidFile: string
  /** Opens an IPC channel, whose closing tells the child that this process has ended. */
  channel?: boolean
}

// A small machine under load can need a minute instead of two seconds.
const defaultDeadlineMs = 180_000
/** A probe without a result for this time is repeated: what it waits for may never come. */
const defaultProbeLimitMs = 15_000

/**
 * Starts a program in its own process group, so that Ctrl-C in the terminal reaches only the supervisor, which stops all
 * parts in order. Throws if the program cannot be started.
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

/** Sends the signals of the plan until the process has exited, then removes its pid file. */
export async function stopProcess(process: Running, plan: StopPlan, pidFile: string): Promise<void> {
  for (const { signal, deadlineMs } of plan) {
    process.kill(signal)
    if (await within(process.exited, deadlineMs)) break
  }
  await rm(pidFile, { force: true })
}

/** Returns true if `promise` settled before the deadline. */
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
 * Repeats `probe` until it succeeds. Throws an error with the end of the log if the process ends, the deadline passes or
 * `signal` aborts.
 */
export async function waitUntilReady(
  name: string,
  process: Running,
  probe: () => Promise<void>,
  options: { logFile: string; signal?: AbortSignal | undefined; deadlineMs?: number; probeLimitMs?: number },
): Promise<void> {
  const { deadlineMs = defaultDeadlineMs, probeLimitMs = defaultProbeLimitMs } = options
  let ended: string | undefined
  process.exited.then((how) => {
    ended = how
  })
  const giveUpAt = Date.now() + deadlineMs
  while (ended === undefined && Date.now() < giveUpAt && !options.signal?.aborted) {
    try {
      if (await within(probe(), probeLimitMs)) return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  if (options.signal?.aborted) throw new Error(`${name} was stopped while starting.`)
  const reason = ended ?? `was not ready within ${deadlineMs / 1000} s`
  throw new Error(`${name} ${reason}. The end of ${options.logFile}:\n${await endOf(options.logFile)}`)
}

/** Resolves when a server on the loopback address accepts a connection. Rejects otherwise. */
export async function canConnect(port: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject)
  }).finally(() => socket.destroy())
}

async function endOf(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  return text.slice(-2000).trim()
}

// Below the range of ephemeral ports, so that no outgoing connection takes the port of a part that restarts.
const lowestPort = 20_000
const highestPort = 32_000
const given = new Set<number>()

/** Returns a port that is free at the moment. Never returns the same port twice in one process. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(lowestPort, highestPort)
    if (given.has(port) || !(await isFree(port))) continue
    keepForItself(port)
    return port
  }
  throw new Error(`No port between ${lowestPort} and ${highestPort} is free.`)
}

/** Prevents `freePort` from returning this port. */
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
