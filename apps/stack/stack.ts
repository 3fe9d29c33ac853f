import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { replaceFile } from '#files/durable-file'
import { migrate } from '#postgres/migrate'
import { type AccessFile, grantAccess } from './access.ts'
import { type App, answersOk, startApp } from './apps.ts'
import { startBrokers } from './brokers.ts'
import { refuseClusterFolder } from './cluster-folder.ts'
import type { Options } from './config.ts'
import { type DataFolder, emptyDataFolder } from './data-folder.ts'
import { clusterCopies, questdbPart, startDatabases } from './databases.ts'
import { keptSecret } from './engines/credentials.ts'
import { spreadPartitions } from './engines/questdb-folders.ts'
import { stopLeftovers } from './leftovers.ts'
import { claimPort, localBaseUrl, requireSharedPorts } from './network.ts'
import type { Parts } from './parts.ts'
import type { Progress } from './progress.ts'
import { copyNames, demoFleet, planServices, writerOf } from './services.ts'

const engines = ['Postgres', 'QuestDB', ...clusterCopies.map(questdbPart), 'Kafka', 'Redis']
const apps = ['ingest', 'writer', ...clusterCopies.map(writerOf), 'worker', 'control-plane']
const copiesOf = (options: Pick<Options, 'cluster'>) => (options.cluster ? 2 : 1)

/** The names of all parts that may run, in their start order. They stop in reverse order. */
export const startOrder = (options: Pick<Options, 'cluster'>): string[] => [
  ...engines,
  ...apps.flatMap((app) => copyNames(app, copiesOf(options))),
  'gateway',
  'demo-fleet',
]

const readyDeadlineMs = 120_000

const masterSecretAdvice =
  'Restore it from a backup: the stored secrets of config profiles and webhooks cannot be read without it.'

/**
 * Starts the whole product on a locked data folder. Resolves when it is ready. Throws an error with one sentence that says
 * what is missing, and when it is interrupted; the caller then stops the `parts` that were started.
 */
export async function startStack(
  options: Options,
  folder: DataFolder,
  parts: Parts,
  progress: Progress,
  interrupted: AbortSignal,
): Promise<AccessFile> {
  const { config, host } = options
  for (const name of await stopLeftovers(folder)) progress.say(`  Stopped ${name}, left over from a killed start.`)
  const port = await claimPort(options.port, host)
  if (options.cluster) await requireSharedPorts(port, host)
  if (options.fresh) await emptyDataFolder(folder)
  if (!options.cluster) refuseClusterFolder(folder)
  const masterSecret =
    config.CONFIG_SECRETS_KEY ?? (await keptSecret(join(folder.secrets, 'config-secrets-key'), masterSecretAdvice))

  if (!options.cluster && !config.KAFKA_BROKERS && existsSync(folder.kafka)) {
    progress.say(
      '  Earlier starts with --cluster kept reports in Kafka. Start with --cluster to store those that are left.',
    )
  }
  const [databases, brokers] = await Promise.all([
    startDatabases(options, folder, parts.keep, progress),
    options.cluster ? startBrokers(options, folder, parts.keep, progress) : {},
  ])
  // For commands that run beside the product, such as a backup.
  const { KAFKA_BROKERS } = options.environment
  await replaceFile(
    folder.databasesFile,
    `${JSON.stringify({ ...databases.environment, KAFKA_BROKERS, ...brokers })}\n`,
  )
  const migrated = progress.begin('migrations', 'applying')
  const applied = await migrate(databases.environment.POSTGRES_URL, undefined, {
    onWait: (wait) => progress.say(`  ${wait}`),
  })
  migrated(applied.length > 0 ? `${applied.length} applied` : 'none to apply,')

  const localUrl = localBaseUrl(port, host)
  const baseUrl = config.PUBLIC_BASE_URL ?? localUrl
  const { access, demoEnrollmentKey: enrollmentKey } = await grantAccess({
    databases: databases.environment,
    demo: options.demo,
    baseUrl,
    folder,
  })
  const environment = {
    ...options.environment,
    ...databases.environment,
    ...brokers,
    DATA_DIR: folder.dir,
    CONFIG_SECRETS_KEY: masterSecret,
  }

  const keepApp = (app: App) => parts.keep(app.name, (signal) => startApp(app, folder, signal))
  const { questdbCopies } = databases
  const plan = { environment, folder, host, port, localUrl, baseUrl, copies: copiesOf(options), questdbCopies }
  const { controlPlane, gateway, ingestUrl, ...inner } = await planServices(plan)
  await Promise.all(Object.values(inner).flat().map(keepApp))
  await Promise.all(controlPlane.map(keepApp))
  await untilReady(`${localUrl}/readyz`, progress, interrupted)
  await Promise.all(gateway.map(keepApp))
  // The apps have created the tables.
  await Promise.all([folder.questdb, folder.questdbB].map(spreadPartitions))
  const { demoKey: apiKey, demoOrganizationId: organizationId } = access
  if (enrollmentKey && apiKey && organizationId) {
    await keepApp(
      demoFleet({
        ...{ environment: options.environment, folder, localUrl, ingestUrl },
        ...{ enrollmentKey, apiKey, organizationId },
      }),
    )
  }
  return access
}

async function untilReady(url: string, progress: Progress, interrupted: AbortSignal): Promise<void> {
  const finished = progress.begin('readiness', 'waiting for all parts')
  const giveUpAt = Date.now() + readyDeadlineMs
  for (;;) {
    try {
      await answersOk(url)
      finished('all parts are up')
      return
    } catch (error) {
      if (interrupted.aborted || Date.now() > giveUpAt) throw error
      await pause(100)
    }
  }
}
