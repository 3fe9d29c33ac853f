import { setTimeout as delay } from 'node:timers/promises'
import { type OwnedPool, openPool } from '#postgres/pool'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { masterSecret } from '#test/ingest-process'
import { newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { until } from '#test/until'
import type { Fault, Finding } from './fault.ts'
import { freezeProcess } from './frozen-process.ts'
import { startReportLoad } from './report-load.ts'
import { openScene, type Scene } from './scene.ts'
import { sendReport } from './send-report.ts'

/** Ingest, worker and control plane have one LISTEN connection each. */
const listeners = 3
/** The number of connections by which the pools may vary. */
const slack = 10
const settleMs = 90_000

/**
 * Stops Postgres during work and during the start of ingest, and suspends it. Afterwards each process must work and hold no
 * more connections than before.
 */
export const postgresOutages: Fault = {
  name: 'postgres-outages',
  async run({ quick }) {
    const scene = await openScene(20)
    const apps: AppProcess[] = []
    try {
      apps.push(...(await startApps(scene)))
      const load = startReportLoad(scene.ingest.url, scene.devices)
      await until('every device is known', async () => load.accepted() > 20 * 30 * 5, 60_000)
      const before = await withPool(scene, (pool) => countConnections(pool, listeners))
      const findings: Finding[] = []
      const outage = async (name: string, act: () => Promise<void>) => {
        await act()
        findings.push(...(await lookAfter(scene, apps, before.total, name)))
      }
      for (const seconds of quick ? [2, 12] : [2, 12, 60]) {
        await outage(`${seconds} s away`, async () => {
          await killPostgres(scene)
          await delay(seconds * 1_000)
          await scene.startPostgres()
        })
        await outage(`${seconds} s away at the start of ingest`, async () => {
          await killPostgres(scene)
          await scene.ingest.end('SIGTERM')
          await scene.startIngest()
          await delay(seconds * 1_000)
          await scene.startPostgres()
        })
      }
      await outage('20 s frozen', async () => {
        const resume = freezeProcess(scene.postgres.pid)
        await delay(20_000)
        resume()
      })
      await load.finish()
      const [unexpected] = load.unexpected()
      findings.push({ what: 'no report was refused', held: unexpected === undefined, detail: unexpected ?? 'none' })
      return findings
    } finally {
      await Promise.all(apps.map((app) => app.stop()))
      await scene.close()
    }
  },
}

/** Starts worker and control plane in addition to the ingest of the scene. */
async function startApps({ place, ingest }: Scene): Promise<AppProcess[]> {
  const environment = {
    POSTGRES_URL: place.postgresUrl,
    QUESTDB_URL: place.questdb.httpUrl,
    QUESTDB_PG_URL: place.questdb.pgUrl,
    QUESTDB_USER: place.questdb.user,
    QUESTDB_PASSWORD: place.questdb.password,
    CONFIG_SECRETS_KEY: masterSecret,
    INGEST_URL: ingest.url,
    LOG_LEVEL: 'error',
  }
  return [
    await startAppProcess('apps/worker/main.ts', environment),
    await startAppProcess('apps/control-plane/main.ts', environment),
  ]
}

async function killPostgres(scene: Scene): Promise<void> {
  process.kill(scene.postgres.pid, 'SIGKILL')
  await scene.postgres.exited
}

/** Checks after an outage that all parts respond, that revocations take effect, and that connections are as before. */
async function lookAfter(scene: Scene, apps: AppProcess[], before: number, name: string): Promise<Finding[]> {
  const isReady = async ({ url }: { url: string }) => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok ?? false
  const ready = await until(
    'all parts are ready',
    async () => (await Promise.all([scene.ingest, ...apps].map(isReady))).every(Boolean),
    settleMs,
  ).catch(() => false)
  return withPool(scene, async (pool) => {
    const heardMs = await revocationMs(scene, pool)
    const { listening, total } = await settledConnections(pool, before)
    return [
      { what: `${name}: all parts are ready`, held: ready, detail: String(ready) },
      { what: `${name}: a revocation takes effect within 5 s`, held: heardMs < 5_000, detail: `${heardMs} ms` },
      { what: `${name}: one listener per process`, held: listening === listeners, detail: `${listening} listeners` },
      {
        what: `${name}: connections are as before`,
        held: total <= before + slack,
        detail: `${total}, ${before} before`,
      },
    ]
  })
}

/** Measures how long a device can report after it was disabled. */
async function revocationMs(scene: Scene, pool: OwnedPool): Promise<number> {
  const [device] = await newReportingDevices(pool, scene.devices[0]?.organizationId ?? '', 1)
  const reports = (status: number) =>
    until(
      `a report is answered with ${status}`,
      async () => (await report(scene.ingest.url, device)) === status,
      30_000,
    )
  await reports(202)
  const startedMs = performance.now()
  await pool.query("UPDATE device SET status = 'disabled' WHERE id = $1", [device?.id])
  await reports(403)
  return Math.round(performance.now() - startedMs)
}

const report = (url: string, device: ReportingDevice | undefined) =>
  sendReport(url, device?.token, { samples: [{ kind: 'connection', state: 'connected' }] })

type Connections = { listening: number; total: number }

/** Returns the connections of all parts when they are as expected, or after the timeout. */
async function settledConnections(pool: OwnedPool, before: number): Promise<Connections> {
  await until(
    'connections are as before',
    async () => {
      const { listening, total } = await countConnections(pool)
      return listening === listeners && total <= before + slack
    },
    settleMs,
  ).catch(() => undefined)
  return countConnections(pool)
}

async function countConnections(pool: OwnedPool, awaitedListeners = 0): Promise<Connections> {
  const count = async () => {
    const { rows } = await pool.query<Connections>(
      `SELECT count(*) FILTER (WHERE application_name = 'listener')::int AS listening, count(*)::int AS total
         FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'faults'`,
    )
    return rows[0] ?? { listening: 0, total: 0 }
  }
  await until('all parts listen', async () => (await count()).listening >= awaitedListeners)
  return count()
}

async function withPool<Result>(scene: Scene, work: (pool: OwnedPool) => Promise<Result>): Promise<Result> {
  const pool = openPool(scene.postgres.url, { applicationName: 'faults', maxConnections: 2 })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}
