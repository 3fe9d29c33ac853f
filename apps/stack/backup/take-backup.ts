import { basename } from 'node:path'
import pg from 'pg'
import { connectionOptions, copyLimits } from '#postgres/connection'
import { type BackupWriter, createBackup, type Manifest } from './backup-folder.ts'
import type { Installation } from './installation.ts'
import { addTables } from './postgres-tables.ts'
import { applyReceivedRows, duringCheckpoint, readQuestdbVersion } from './questdb-checkpoint.ts'
import { addFileIfAny, addFolder } from './source-files.ts'
import { addTelemetryLog } from './telemetry-log.ts'

// An arbitrary constant. Only one backup runs at a time, because QuestDB has one checkpoint.
const advisoryLock = 7_264_115_003

/** Folders of QuestDB's root directory that contain no rows: its log and temporary files. */
const notData = /^(?:log|tmp|import)\//

/**
 * Writes a backup of a running installation to `folder`, and returns its manifest. Contains everything that was accepted
 * before it began. `say` receives a line for each step. If it fails or `signal` aborts, nothing remains.
 *
 * The order matters. A report that was accepted is in the log until QuestDB has stored it. The log comes before QuestDB, so
 * that a report which QuestDB stores meanwhile is in the backup twice and not missing. Postgres comes last, so that
 * it has every device with telemetry in the backup.
 */
export async function takeBackup(
  installation: Installation,
  folder: string,
  { say, signal }: { say(text: string): void; signal: AbortSignal },
): Promise<Manifest> {
  const startedAt = new Date().toISOString()
  const postgres = await connect('Postgres', connectionOptions(installation.postgresUrl, copyLimits))
  const questdb = await connect('QuestDB', { connectionString: installation.questdbUrl }).catch(
    async (error: unknown) => {
      await postgres.end()
      throw error
    },
  )
  try {
    const { rows } = await postgres.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [advisoryLock])
    if (!rows[0]?.held) throw new Error('Another backup is running: wait until it has ended.')
    const questdbVersion = await readQuestdbVersion(questdb)
    const backup = await createBackup(folder, signal)
    try {
      await addPrivateFiles(installation, backup)
      if (installation.logFolder) {
        say('Copying the telemetry log …')
        await addTelemetryLog(installation.logFolder, backup)
      }
      say('Copying QuestDB …')
      await applyReceivedRows(installation.questdbUrl, signal)
      await duringCheckpoint(installation.questdbUrl, questdb, () =>
        addFolder(backup, 'questdb', installation.questdbFolder, (name) => notData.test(name)),
      )
      say('Copying Postgres …')
      const tables = await addTables(postgres, backup)
      const hasTelemetryLog = installation.logFolder !== undefined
      return await backup.finish({ startedAt, questdbVersion, hasTelemetryLog, ...tables })
    } catch (error) {
      await backup.discard()
      throw error
    }
  } finally {
    await Promise.allSettled([questdb.end(), postgres.end()])
  }
}

async function connect(name: string, options: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({
    ...options,
    application_name: 'backup',
    connectionTimeoutMillis: 20_000,
  })
  // Without a listener, a lost connection ends the process. The next query rejects.
  client.on('error', () => {})
  await client.connect().catch((error: unknown) => {
    throw new Error(`${name} does not respond: ${error instanceof Error ? error.message : error}.`)
  })
  return client
}

async function addPrivateFiles({ dataFolder }: Installation, backup: BackupWriter): Promise<void> {
  if (!dataFolder) return
  await addFileIfAny(backup, basename(dataFolder.accessFile), dataFolder.accessFile)
  for (const folder of [dataFolder.secrets, dataFolder.demoFleet]) await addFolder(backup, basename(folder), folder)
}
