import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent as ConnectionPool } from 'undici'
import { systemClock } from '#core/clock'
import { createAgent } from './agent.ts'
import { readAgentConfig } from './config.ts'
import { readDrive } from './drive-file.ts'
import { createDriveSource } from './drive-source.ts'
import { createEdgeClient } from './edge-client.ts'
import { createHostSource, mergeSources } from './host-source.ts'
import { createLog } from './log.ts'
import { createModemReader, createModemSource } from './modem-source.ts'
import { misconfiguredExitCode, restartExitCode } from './restart.ts'
import { openSampleBuffer } from './sample-buffer.ts'
import { openStateFile } from './state-file.ts'

// The process of the agent, started and restarted by main.ts.
const config = readAgentConfig(process.argv.slice(2))
const bootedAtMs = systemClock()
const folder = config.STATE_DIR ?? join('.agent', config.SERIAL)
const log = createLog(config.SERIAL)
const pool = new ConnectionPool({ connections: 4, keepAliveTimeout: 60_000 })
const state = await openStateFile(folder, config.FIRMWARE)
if (config.DEVICE_TOKEN) await state.update({ token: config.DEVICE_TOKEN })

if (state.read().token === undefined && config.ENROLLMENT_KEY === undefined) {
  refuse('The router has no token. Set ENROLLMENT_KEY to an enrollment key, or DEVICE_TOKEN to a device token.')
}

const rebootReason = state.read().restartReason
const host = createHostSource({ firmware: () => state.read().firmware, rebootReason, bootedAtMs })
const replayStartedAtMs = config.REPLAY_STARTED_AT_MS ?? bootedAtMs
const resumedAtMs = config.RESTARTED ? bootedAtMs : replayStartedAtMs
const drive =
  config.DRIVE === undefined
    ? undefined
    : createDriveSource(readDrive(await textOf(config.DRIVE)), config.SPEED, replayStartedAtMs, resumedAtMs)
// A recorded drive has the modem of its recording.
const source = drive
  ? mergeSources(config.STAY ? { ...drive, isExhausted: () => false } : drive, host)
  : mergeSources(host, createModemSource(createModemReader(), bootedAtMs))

const agent = createAgent({
  connect: (signal) => createEdgeClient({ baseUrl: config.BASE_URL, dispatcher: pool, signal }),
  enrollment:
    config.ENROLLMENT_KEY === undefined
      ? undefined
      : {
          enrollmentKey: config.ENROLLMENT_KEY,
          serial: config.SERIAL,
          model: config.MODEL,
          ...(config.NAME === undefined ? {} : { name: config.NAME }),
        },
  folder,
  state,
  buffer: await openSampleBuffer(join(folder, 'buffer')),
  source,
  clock: systemClock,
  random: Math.random,
  log,
  bootedAtMs,
  reportEveryMs: config.REPORT_EVERY_MS,
  longPollSeconds: config.LONG_POLL_SECONDS,
  rollBackAfterMs: config.ROLL_BACK_AFTER_MS,
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, agent.stop)
process.once('disconnect', agent.stop)

if (rebootReason !== undefined) await state.update({ restartReason: undefined })
log('started', { firmware: state.read().firmware, ...(rebootReason === undefined ? {} : { rebootReason }) })
const end = await agent.run()
log('ended', { kind: end.kind })
await pool.destroy()
process.exit(end.kind === 'restart' ? restartExitCode : 0)

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`)
  process.exit(misconfiguredExitCode)
}

function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => refuse(`Cannot read the drive: ${error.message}.`))
}
