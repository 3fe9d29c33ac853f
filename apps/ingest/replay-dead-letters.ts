import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseConfig } from '#core/config'
import { existingDevices } from '#fleet/devices/ownership'
import { openPool } from '#postgres/pool'
import { openIlpTransport } from '#questdb/server/ilp-transport'
import { onlyQuestdbServer } from '#questdb/server/servers'
import { openQuestdbSql } from '#questdb/server/sql'
import { deadLetterFolder } from '#telemetry-log/dead-letters/dead-letters'
import { LogInUseError } from '#telemetry-log/log'
import { unstoredSamples } from '#telemetry-log/segments/change-partitions'
import { openPartitionedLog, type PartitionedLog } from '#telemetry-log/segments/partitioned-log'
import { replayDeadLetters } from '#telemetry-writer/dead-letters/replay'
import { summaryOf } from '#telemetry-writer/dead-letters/summary'
import { configSchema, segmentFilesNeedOneServer } from './config.ts'

// node apps/ingest/replay-dead-letters.ts [--forget-deleted]: stores dead letters after their cause was fixed.
// Ingest must not run at the same time, so that no newer row arrives between reading the stored row and replaying the
// older one. With --forget-deleted, letters of devices that do not exist in Postgres are removed.
const waitForLogMs = 60_000
const { values } = parseArgs({ options: { 'forget-deleted': { type: 'boolean', default: false } } })

const config = parseConfig(
  configSchema.pick({
    POSTGRES_URL: true,
    QUESTDB_URL: true,
    QUESTDB_PG_URL: true,
    QUESTDB_SERVERS: true,
    QUESTDB_USER: true,
    QUESTDB_PASSWORD: true,
    LOG_DIR: true,
  }),
  process.env,
)

if (existsSync(deadLetterFolder(config.LOG_DIR))) await replay()
else console.log('There are no dead letters.')

async function replay(): Promise<void> {
  const log = await openLogOnceFree(config.LOG_DIR)
  if (!log) return
  if (!isStored(log)) {
    console.error(
      'The log holds reports that QuestDB does not have. Start ingest until telemetry_backlog_samples is 0.',
    )
    process.exitCode = 1
    return log.close()
  }
  const { url, pgUrl, user, password } = onlyQuestdbServer(config, segmentFilesNeedOneServer)
  const pool = openPool(config.POSTGRES_URL, { applicationName: 'replay-dead-letters', maxConnections: 1 })
  const questdb = openQuestdbSql(pgUrl, { applicationName: 'replay-dead-letters', maxConnections: 1 })
  const transport = openIlpTransport({ url, user, password })
  try {
    const fates = await replayDeadLetters({
      logFolder: config.LOG_DIR,
      store: log.append,
      forgetDeleted: values['forget-deleted'],
      existingDevices: (deviceIds) => existingDevices(pool, deviceIds),
      questdb,
      transport,
      onKept: (fate, detail) => console.error(`${fate}: ${detail}`),
    })
    const { text, isComplete } = summaryOf(fates, {
      reports: 'Appended to the log',
      forgetDeleted: values['forget-deleted'],
    })
    console.log(text)
    process.exitCode = isComplete ? 0 : 1
  } finally {
    await Promise.all([transport.close(), questdb.end(), pool.end(), log.close()])
  }
}

function isStored({ all }: PartitionedLog): boolean {
  return all.every(({ place, log }) => unstoredSamples({ place, tail: log.tail() }) === 0)
}

/** Waits for ingest to stop. Restarting ingest is sufficient: it starts after this command has ended. */
async function openLogOnceFree(folder: string): Promise<PartitionedLog | undefined> {
  let hasPrinted = false
  for (const giveUpAtMs = performance.now() + waitForLogMs; ; await delay(100)) {
    try {
      return await openPartitionedLog({ folder })
    } catch (error) {
      if (!(error instanceof LogInUseError)) throw error
      if (!hasPrinted) console.error('Waiting up to a minute for ingest to stop.')
      hasPrinted = true
      if (performance.now() < giveUpAtMs) continue
      console.error(`${error.message} Stop or restart ingest while this command waits.`)
      process.exitCode = 1
      return undefined
    }
  }
}
