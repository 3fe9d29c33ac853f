import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parseConfig } from '#core/config'
import { existingDevices } from '#fleet/devices/ownership'
import { loadPlans } from '#fleet/organizations/plans'
import { createLogger } from '#http/request-log'
import { openPool } from '#postgres/pool'
import { deadLetterFolder } from '#telemetry-log/dead-letters/dead-letters'
import { type HeldGroup, holdKafkaGroup } from '#telemetry-log/kafka/kafka-group-hold'
import { kafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { ensureTopic } from '#telemetry-log/kafka/kafka-topic'
import { type ReplayOutcome, replayDeadLetters } from '#telemetry-writer/dead-letters/replay'
import { summaryOf } from '#telemetry-writer/dead-letters/summary'
import { createPostgresTeller } from '#telemetry-writer/tell-postgres'
import { openWatchedQuestdb } from '#telemetry-writer/watched-questdb'
import { folderOf, replaySchema, writtenCopy } from './config.ts'
import { openDirectStore } from './direct-store.ts'

// node apps/writer/replay-dead-letters.ts [--forget-deleted]: stores the dead letters of WRITER_DIR after their cause was
// fixed, in the copy of the writers' environment. The writers of this copy must not run, so that no newer row arrives between
// reading the stored row and replaying the older one. Ingest may run. With --forget-deleted, letters of devices that do not
// exist in Postgres are removed.
const waitForWritersMs = 60_000
const { values } = parseArgs({ options: { 'forget-deleted': { type: 'boolean', default: false } } })
const forgetDeleted = values['forget-deleted']

const config = parseConfig(replaySchema, process.env)
const copy = writtenCopy(config)
const folder = folderOf(config, copy)
const settings = kafkaSettings(config)
if (!settings) throw new Error('The command needs KAFKA_BROKERS.')

if (existsSync(deadLetterFolder(folder))) {
  const held = await holdKafkaGroup({
    settings,
    groupId: copy.groupId,
    partitions: await ensureTopic(settings),
    withinMs: waitForWritersMs,
    onWaiting: () => console.error('Waiting up to a minute for the writers to stop.'),
  })
  if (held) await replay(held).finally(held.release)
  else {
    console.error(
      `The group ${copy.groupId} has members. Stop all writers of this copy of QuestDB while this command waits.`,
    )
    process.exitCode = 1
  }
} else console.log('There are no dead letters.')

async function replay(held: HeldGroup): Promise<void> {
  const logger = createLogger('replay-dead-letters', config.LOG_LEVEL)
  const plans = await loadPlans(config.PLANS_FILE)
  const ttlDays = Math.max(...Object.values(plans).map((plan) => plan.historyDays))
  const pool = openPool(config.POSTGRES_URL, { applicationName: 'replay-dead-letters', maxConnections: 2 })
  const applicationName = 'replay-dead-letters'
  const opened = openWatchedQuestdb({
    server: copy.server,
    ttlDays,
    applicationName,
    maxConnections: 6,
    resumes: true,
    logger,
  })
  const transport = {
    ...opened.transport,
    async send(rows: Uint8Array) {
      held.throwIfLost()
      return opened.transport.send(rows)
    },
  }
  const teller = createPostgresTeller({ poolOf: () => pool, plans, logger })
  let refusedRows = 0
  const direct = openDirectStore({
    questdb: { ...opened, transport },
    place: { logFolder: folder, partition: 0 },
    onDeadRows(rows) {
      refusedRows += rows.length
    },
    onStored: teller.add,
    logger,
  })
  try {
    const fates = await replayDeadLetters({
      logFolder: folder,
      store: direct.store,
      forgetDeleted,
      existingDevices: (deviceIds) => existingDevices(pool, deviceIds),
      questdb: opened.sql,
      transport,
      onKept: (fate, detail) => console.error(`${fate}: ${detail}`),
    }).finally(direct.close)
    if (!(await teller.flush())) {
      console.error('Postgres did not accept what the reports say about devices. Their next reports correct it.')
    }
    print(fates, refusedRows)
  } finally {
    await Promise.all([opened.close(), pool.end()])
  }
}

function print(fates: ReadonlyMap<ReplayOutcome, number>, refusedRows: number): void {
  const { text, isComplete } = summaryOf(fates, { reports: 'Stored as a writer does', forgetDeleted })
  console.log(text)
  if (refusedRows > 0) console.log(`QuestDB rejected ${refusedRows} rows of the reports. They are new dead letters.`)
  process.exitCode = isComplete && refusedRows === 0 ? 0 : 1
}
