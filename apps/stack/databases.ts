import { resolve } from 'node:path'
import { fillSecondCopy } from './cluster-folder.ts'
import type { Options } from './config.ts'
import type { DataFolder } from './data-folder.ts'
import { startPostgres } from './engines/postgres.ts'
import { freePort } from './engines/process.ts'
import { type QuestdbEngine, startQuestdb } from './engines/questdb.ts'
import type { Keep } from './parts.ts'
import type { Progress } from './progress.ts'

/** The folder of downloaded engines. Outside the data folder, so that `--fresh` and a second data folder need no second download. */
export const downloads = resolve(import.meta.dirname, '../../.cache')

/** The environment variables with which an app finds the two databases. */
type DatabaseEnvironment = { POSTGRES_URL: string } & QuestdbEnvironment

type QuestdbEnvironment =
  | { QUESTDB_URL: string; QUESTDB_PG_URL: string; QUESTDB_USER: string; QUESTDB_PASSWORD: string }
  | { QUESTDB_SERVERS: string }

/** The started databases. `questdbCopies`: the names of the copies of QuestDB; empty for a single server. */
export type Databases = { environment: DatabaseEnvironment; questdbCopies: readonly string[] }

/** The copies of QuestDB that a cluster starts. */
export const clusterCopies = ['a', 'b'] as const

/** The name of a copy among the parts. */
export const questdbPart = (copy: string): string => `QuestDB-${copy}`

/**
 * Starts the databases concurrently. Each is embedded unless the environment has the address of an external one. An
 * embedded engine keeps its ports across restarts, so the apps can reconnect.
 */
export async function startDatabases(
  options: Options,
  folder: DataFolder,
  keep: Keep,
  progress: Progress,
): Promise<Databases> {
  const hasCopies = options.cluster && options.config.QUESTDB_URL === undefined
  const startQuestdbs = hasCopies ? copiesEnvironment : questdbEnvironment
  const [postgres, questdb] = await Promise.all([
    postgresEnvironment(options, folder, keep),
    startQuestdbs(options, folder, keep, progress),
  ])
  return { environment: { ...postgres, ...questdb }, questdbCopies: hasCopies ? clusterCopies : [] }
}

async function postgresEnvironment({ config }: Options, folder: DataFolder, keep: Keep) {
  if (config.POSTGRES_URL) return { POSTGRES_URL: config.POSTGRES_URL }
  const port = await freePort()
  const { url } = await keep('Postgres', (signal) => startPostgres({ dir: folder.postgres, port, signal }))
  return { POSTGRES_URL: url }
}

async function questdbEnvironment(options: Options, folder: DataFolder, keep: Keep, progress: Progress) {
  const { QUESTDB_URL, QUESTDB_PG_URL, QUESTDB_USER, QUESTDB_PASSWORD } = options.config
  if (QUESTDB_URL && QUESTDB_PG_URL) return { QUESTDB_URL, QUESTDB_PG_URL, QUESTDB_USER, QUESTDB_PASSWORD }
  const engine = await keepQuestdb({ name: 'QuestDB', dir: folder.questdb }, options, keep, progress)
  return {
    QUESTDB_URL: engine.httpUrl,
    QUESTDB_PG_URL: engine.pgUrl,
    QUESTDB_USER: engine.user,
    QUESTDB_PASSWORD: engine.password,
  }
}

async function copiesEnvironment(options: Options, folder: DataFolder, keep: Keep, progress: Progress) {
  await fillSecondCopy(folder, progress)
  const dirs = { a: folder.questdb, b: folder.questdbB }
  const start = (copy: (typeof clusterCopies)[number]) =>
    keepQuestdb({ name: questdbPart(copy), dir: dirs[copy] }, options, keep, progress)
  // The first one downloads the program for both.
  const engines = [await start('a'), await start('b')]
  return { QUESTDB_SERVERS: engines.map((engine, index) => serverEntry(clusterCopies[index], engine)).join(';') }
}

function serverEntry(name: string | undefined, { httpUrl, pgUrl, user, password }: QuestdbEngine): string {
  const http = new URL(httpUrl)
  http.username = user
  http.password = password
  return `${name}=${http.href},${pgUrl}`
}

/** Starts one QuestDB server. `name` appears in the progress, and `dir` is the folder of its data. */
async function keepQuestdb(
  { name, dir }: { name: string; dir: string },
  { config }: Options,
  keep: Keep,
  progress: Progress,
): Promise<QuestdbEngine> {
  const ports = { http: await freePort(), pg: await freePort() }
  return keep(name, (signal) =>
    startQuestdb({
      dir,
      cacheDir: downloads,
      onDownload: (artifact) => progress.tell(name, `downloading ${artifact} with Maven (first start only) …`),
      javaHome: config.JAVA_HOME,
      ramLimitBytes: config.QUESTDB_RAM_LIMIT_BYTES,
      heapBytes: config.QUESTDB_HEAP_BYTES,
      javaOptions: config.QUESTDB_JAVA_OPTIONS,
      ports,
      signal,
    }),
  )
}
