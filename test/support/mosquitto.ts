import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../apps/stack/engines/process.ts'
import { until } from './until.ts'

/** Debian has the broker in a folder that only root searches. */
const environment = { ...process.env, PATH: [process.env.PATH, '/usr/sbin', '/usr/local/sbin'].join(delimiter) }

const runs = (command: string) => spawnSync(command, ['-h'], { env: environment }).error === undefined

/** The reason why Mosquitto is not available; null if it is. */
export const mosquittoMissing: string | null =
  runs('mosquitto') && runs('mosquitto_pub') ? null : 'Mosquitto and its clients are not installed.'

export type Mosquitto = {
  url: string
  port: number
  /** Ends the process without a stop. */
  kill(): Promise<void>
  /** Starts it again with the same port and data. */
  start(): Promise<void>
  /** Publishes a message with `mosquitto_pub`. Resolves when the broker has acknowledged it. */
  publish(topic: string, payload: string, options?: readonly string[]): Promise<void>
  /** Runs `mosquitto_sub` until it has received `count` messages, and returns its output. */
  subscribe(topic: string, count: number, options?: readonly string[]): Promise<string>
  close(): Promise<void>
}

const run = promisify(execFile)

/** Starts a Mosquitto broker that keeps its messages on disk. `more`: further lines of its configuration. */
export async function startMosquitto(more: readonly string[] = []): Promise<Mosquitto> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'mosquitto-'))
  const configuration = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    'persistence true',
    `persistence_location ${folder}/`,
    'autosave_interval 1',
    'autosave_on_changes false',
    'max_queued_messages 0',
    'max_inflight_messages 0',
    // Started by root, it would become a user that cannot write to the folder.
    'user root',
    ...more,
  ]
  writeFileSync(join(folder, 'mosquitto.conf'), `${configuration.join('\n')}\n`)
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    child = spawn('mosquitto', ['-c', join(folder, 'mosquitto.conf')], { stdio: 'ignore', env: environment })
    await until('the broker listens', () => listens(port))
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
  const client = async (command: string, args: readonly string[]): Promise<string> =>
    (await run(command, ['-h', '127.0.0.1', '-p', String(port), ...args], { env: environment, timeout: 60_000 })).stdout

  await start()
  return {
    url: `mqtt://127.0.0.1:${port}`,
    port,
    start,
    kill: () => end('SIGKILL'),
    async publish(topic, payload, options = []) {
      await client('mosquitto_pub', ['-q', '1', '-t', topic, '-m', payload, ...options])
    },
    subscribe: (topic, count, options = []) =>
      client('mosquitto_sub', ['-q', '1', '-t', topic, '-C', String(count), ...options]),
    async close() {
      await end('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
