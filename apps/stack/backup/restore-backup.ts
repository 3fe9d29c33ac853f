import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { sync } from '#files/durable-file'
import type { DataFolder } from '../data-folder.ts'
import { dataFolder } from '../data-folder.ts'
import { startPostgres } from '../engines/postgres.ts'
import { questdbVersion } from '../engines/questdb-program.ts'
import { type Manifest, readManifest, verifyBackup } from './backup-folder.ts'
import { restoreDatabase } from './restore-database.ts'
import { copyFiles, isEmptyFolder } from './restored-files.ts'
import { logPath } from './telemetry-log.ts'

const targetsSchema = z.object({
  POSTGRES_URL: z.string().min(1).optional(),
  /** One folder for each copy of QuestDB, separated by `:`. */
  QUESTDB_DATA_DIR: z
    .string()
    .transform((text) => text.split(delimiter).filter((folder) => folder !== ''))
    .optional(),
  LOG_DIR: z.string().min(1).optional(),
})

/** Where a restore writes. What is not set is part of the data folder. */
export type Targets = z.infer<typeof targetsSchema>

export const readTargets = (environment: Record<string, string | undefined>): Targets =>
  parseConfig(targetsSchema, environment)

type Run = { say(text: string): void; signal: AbortSignal }

/** If QuestDB finds this file, it restores the checkpoint of the backup when it starts. */
const questdbTrigger = '_restore'

/**
 * Restores a backup into a data folder of `npm start`, which must be empty or missing. A database with an address in
 * `targets` is restored there. If it fails, the data folder does not change.
 */
export async function restoreDataFolder(backup: string, data: DataFolder, targets: Targets, run: Run): Promise<void> {
  const manifest = await readManifest(backup)
  refuseOtherQuestdb(manifest)
  await refuseUnlessEmpty(data.dir)
  for (const folder of targets.QUESTDB_DATA_DIR ?? []) await refuseUnlessEmpty(folder)
  await verify(backup, manifest, run)
  const building = dataFolder(`${data.dir}.restoring`)
  await mkdir(dirname(building.dir), { recursive: true })
  await mkdir(building.dir, { mode: 0o700 }).catch(() => {
    throw new Error(
      `${building.dir} exists: another restore writes to it or was interrupted. Delete it and run the command again.`,
    )
  })
  try {
    run.say('Copying files …')
    for (const path of [building.accessFile, building.secrets, building.demoFleet])
      await copyFiles(backup, manifest, basename(path), path, run.signal)
    await copyFiles(backup, manifest, logPath, building.telemetryLog, run.signal)
    await restoreQuestdb(backup, manifest, targets.QUESTDB_DATA_DIR ?? [join(building.questdb, 'data')], run)
    await restorePostgres(backup, manifest, targets.POSTGRES_URL, building, run)
    run.signal.throwIfAborted()
    await sync(building.dir)
    await rename(building.dir, data.dir)
    await sync(dirname(data.dir))
  } catch (error) {
    await rm(building.dir, { recursive: true, force: true })
    throw error
  }
}

/** Restores a backup into the databases and folders of a deployment, whose services and QuestDB must not run. */
export async function restoreDeployment(backup: string, targets: Targets, run: Run): Promise<void> {
  const { POSTGRES_URL, QUESTDB_DATA_DIR, LOG_DIR } = targets
  const manifest = await readManifest(backup)
  if (!POSTGRES_URL || !QUESTDB_DATA_DIR || (manifest.hasTelemetryLog && !LOG_DIR))
    throw new Error('Set POSTGRES_URL, QUESTDB_DATA_DIR and LOG_DIR to where the backup is restored.')
  for (const folder of QUESTDB_DATA_DIR) await refuseUnlessEmpty(folder)
  if (LOG_DIR) await refuseUnlessEmpty(LOG_DIR)
  await verify(backup, manifest, run)
  run.say('Copying Postgres …')
  await restoreDatabase(backup, manifest, POSTGRES_URL)
  run.say('Copying files …')
  if (LOG_DIR) await copyFiles(backup, manifest, logPath, LOG_DIR, run.signal)
  await restoreQuestdb(backup, manifest, QUESTDB_DATA_DIR, run)
}

async function verify(backup: string, manifest: Manifest, { say, signal }: Run): Promise<void> {
  say(`Verifying ${manifest.files.length} files …`)
  await verifyBackup(backup, manifest, signal)
}

async function restoreQuestdb(
  backup: string,
  manifest: Manifest,
  folders: readonly string[],
  { signal }: Run,
): Promise<void> {
  for (const folder of folders) {
    await copyFiles(backup, manifest, 'questdb', folder, signal)
    await writeFile(join(folder, questdbTrigger), '')
    // In a deployment, QuestDB runs as another user than this command.
    await chmod(join(folder, questdbTrigger), 0o644)
  }
}

async function restorePostgres(
  backup: string,
  manifest: Manifest,
  url: string | undefined,
  building: DataFolder,
  { say, signal }: Run,
): Promise<void> {
  say('Copying Postgres …')
  if (url) {
    await restoreDatabase(backup, manifest, url)
    return
  }
  const engine = await startPostgres({ dir: building.postgres, signal })
  try {
    await restoreDatabase(backup, manifest, engine.url)
  } finally {
    await engine.stop()
  }
}

/** QuestDB restores checkpoints of its own major version only. */
function refuseOtherQuestdb(manifest: Manifest): void {
  const [major] = questdbVersion.split('.')
  if (manifest.questdbVersion.split('.')[0] === major) return
  throw new Error(
    `The backup is of QuestDB ${manifest.questdbVersion}, and this version runs QuestDB ${questdbVersion}: restore it with a version of Routerfleet that runs QuestDB ${manifest.questdbVersion.split('.')[0]}.`,
  )
}

async function refuseUnlessEmpty(folder: string): Promise<void> {
  if (!(await isEmptyFolder(folder))) throw new Error(`${folder} is not empty: restore into an empty folder.`)
}
