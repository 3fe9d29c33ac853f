import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolvesWithin } from '#core/schedule'
import { migrate } from '#postgres/migrate'
import { openPool } from '#postgres/pool'
import { openQuestdbSql } from '#questdb/server/sql'
import { type IngestPlace, type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { shortLivedQuestdb } from '#test/short-lived-questdb'
import { countRows, figuresOf } from '#test/stored-telemetry'
import { until } from '#test/until'
import { type PostgresEngine, startPostgres } from '../../apps/stack/engines/postgres.ts'
import { freePort } from '../../apps/stack/engines/process.ts'
import { type QuestdbEngine, startQuestdb } from '../../apps/stack/engines/questdb.ts'
import type { Finding } from './fault.ts'

export type Scene = {
  devices: ReportingDevice[]
  place: IngestPlace & { port: number }
  ingest: IngestProcess
  postgres: PostgresEngine
  questdb: QuestdbEngine
  startPostgres(): Promise<void>
  startQuestdb(): Promise<void>
  startIngest(): Promise<void>
  /** Compares the acknowledged samples with the stored rows and with the metrics of ingest. */
  verify(accepted: number): Promise<Finding[]>
  /** Returns in one line what a finding needs to be explained: the figures of ingest, and the ends of the logs. */
  describe(figures: Record<string, number>): Promise<string>
  close(): Promise<void>
}

/** Starts real engines, ingest and registered devices in a temporary folder. Each part can be killed and restarted. */
export async function openScene(
  deviceCount: number,
  changePlace: (place: IngestPlace & { port: number }) => Promise<IngestPlace & { port: number }> = async (place) =>
    place,
): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-faults-'))
  // If root runs this, Postgres runs as another user, who needs access to this folder.
  chmodSync(folder, 0o711)
  const runPostgres = (port?: number) => startPostgres({ dir: join(folder, 'postgres'), ...(port ? { port } : {}) })
  const runQuestdb = (ports?: QuestdbEngine['ports']) =>
    startQuestdb({ dir: join(folder, 'questdb'), ...shortLivedQuestdb, ...(ports ? { ports } : {}) })
  const [postgres, questdb] = await Promise.all([runPostgres(), runQuestdb()])
  await migrate(postgres.url)
  const pool = openPool(postgres.url, { applicationName: 'faults' })
  const devices = await newReportingDevices(pool, await newOrganization(pool), deviceCount)
  await pool.end()
  const place = await changePlace({
    postgresUrl: postgres.url,
    questdb,
    logDir: join(folder, 'telemetry-log'),
    port: await freePort(),
    // The load is as fast as the machine allows. Other tests cover the rate limit of devices.
    environment: { DEVICE_REQUESTS_PER_MINUTE: '1000000', DEVICE_REQUEST_BURST: '1000000' },
  })

  const scene: Scene = {
    devices,
    place,
    postgres,
    questdb,
    ingest: await startIngestProcess(place),
    async startPostgres() {
      scene.postgres = await runPostgres(postgres.port)
    },
    async startQuestdb() {
      scene.questdb = await runQuestdb(questdb.ports)
    },
    async startIngest() {
      scene.ingest = await startIngestProcess(place)
    },
    verify: (accepted) => verify(scene, accepted),
    async describe(figures) {
      const figuresText = Object.entries(figures).flatMap(([name, value]) => (value === 0 ? [] : [`${name} ${value}`]))
      const questdbLog = readFileSync(join(folder, 'questdb', 'server.log'), 'utf8')
      return [
        `Figures: ${figuresText.join(', ')}.`,
        `Ingest: ${endOf(scene.ingest.output())}`,
        `QuestDB (${await stateOf(scene.questdb)}): ${endOf(questdbLog)}`,
      ].join(' ')
    },
    async close() {
      await scene.ingest.end('SIGTERM')
      await Promise.all([scene.postgres.stop(), scene.questdb.stop()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return scene
}

async function stateOf({ pgUrl, pid }: QuestdbEngine): Promise<'answers' | 'does not answer' | 'has ended'> {
  const questdb = openQuestdbSql(pgUrl, { applicationName: 'faults' })
  const isAnswering = await resolvesWithin(questdb.query('SELECT 1'), 5_000).catch(() => false)
  void questdb.end()
  if (isAnswering) return 'answers'
  try {
    process.kill(pid, 0)
    return 'does not answer'
  } catch {
    return 'has ended'
  }
}

const endOf = (output: string): string => output.trim().slice(-1_500).replaceAll('\n', ' | ')

async function verify(scene: Scene, accepted: number): Promise<Finding[]> {
  let figures: Record<string, number> = {}
  const isStored = async () => {
    figures = await figuresOf(scene.ingest.url)
    return figures.backlog_samples === 0
  }
  await until('everything accepted is stored', isStored, 180_000).catch(async (error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : error}. ${await scene.describe(figures)}`)
  })
  const questdb = openQuestdbSql(scene.questdb.pgUrl, { applicationName: 'faults' })
  try {
    const { rows, distinct } = await countRows(questdb)
    const { samples_stored_total: stored = 0, samples_replaced_total: replaced = 0 } = figures
    const { samples_accepted_total: logged = 0, samples_dead_lettered_total: dead = 0 } = figures
    return [
      { what: 'accepted = stored', held: rows === accepted, detail: `${accepted} acknowledged, ${rows} rows` },
      { what: 'no duplicates', held: rows === distinct, detail: `${rows} rows, ${distinct} distinct` },
      {
        what: 'accepted = stored + replaced + dead-lettered',
        held: logged === stored + replaced + dead && dead === 0,
        detail: `${logged} = ${stored} + ${replaced} + ${dead}`,
      },
      {
        what: 'the metric of stored samples equals the rows',
        held: stored === rows,
        detail: `${stored}, ${rows} rows`,
      },
    ]
  } finally {
    await questdb.end()
  }
}
