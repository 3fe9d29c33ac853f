import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { questdbSqlUrls, questdbVariables } from '#questdb/server/servers'
import { type DataFolder, isInUse } from '../data-folder.ts'
import { exists } from './backup-folder.ts'

/** What a backup reads and a restore writes. */
export type Installation = {
  postgresUrl: string
  /** SQL address of QuestDB with credentials. */
  questdbUrl: string
  /** The root directory of QuestDB, which contains `db/`. */
  questdbFolder: string
  /** Undefined if the log is on Kafka. */
  logFolder: string | undefined
  /** Secrets and keys that `npm start` keeps in its data folder. */
  dataFolder: DataFolder | undefined
}

const databasesSchema = z.object({ POSTGRES_URL: z.string().min(1), ...questdbVariables })

const runningSchema = databasesSchema.extend({ KAFKA_BROKERS: z.string().optional() })
const deploymentSchema = runningSchema.extend({ QUESTDB_DATA_DIR: z.string().min(1), LOG_DIR: z.string().optional() })
const externalSchema = z.object({ QUESTDB_DATA_DIR: z.string().optional() })

/** Every copy of QuestDB is complete, so a backup of the first is sufficient. */
const sqlUrlOf = (variables: z.infer<typeof databasesSchema>): string => questdbSqlUrls(variables)[0] ?? ''

type Environment = Record<string, string | undefined>

/** Returns the running installation of `npm start` in a data folder. Throws if none runs there. */
export async function readRunningInstallation(folder: DataFolder, environment: Environment): Promise<Installation> {
  if (!(await isInUse(folder)))
    throw new Error(
      `Routerfleet does not run in ${folder.dir}: start it, choose its folder with --data-dir, or copy the folder while nothing runs in it.`,
    )
  const { QUESTDB_DATA_DIR } = parseConfig(externalSchema, environment)
  const questdbFolder = QUESTDB_DATA_DIR ?? join(folder.questdb, 'data')
  if (!(await exists(questdbFolder)))
    throw new Error('QuestDB is external: set QUESTDB_DATA_DIR to its root directory, which contains db/.')
  const running = runningSchema.parse(JSON.parse(await readFile(folder.databasesFile, 'utf8')))
  return {
    postgresUrl: running.POSTGRES_URL,
    questdbUrl: sqlUrlOf(running),
    questdbFolder,
    logFolder: running.KAFKA_BROKERS ? undefined : folder.telemetryLog,
    dataFolder: folder,
  }
}

/** Returns the installation that the environment variables describe, for the image. */
export function readDeployment(environment: Environment): Installation {
  const config = parseConfig(deploymentSchema, environment)
  if (!config.LOG_DIR && !config.KAFKA_BROKERS) throw new Error('Set LOG_DIR or KAFKA_BROKERS, as for ingest.')
  return {
    postgresUrl: config.POSTGRES_URL,
    questdbUrl: sqlUrlOf(config),
    questdbFolder: config.QUESTDB_DATA_DIR,
    logFolder: config.KAFKA_BROKERS ? undefined : config.LOG_DIR,
    dataFolder: undefined,
  }
}
