import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureAccess } from '#fleet/access/bootstrap'
import { openPool } from '#postgres/pool'
import { openQuestdbSql } from '#questdb/server/sql'
import { createTestDatabase } from '#test/database'
import { workerEnvironment } from '#test/job-service'
import { questdbConnection } from '#test/questdb'
import { nextVersion, type Replica, runScript, startReplica, thisVersion, type Version } from '#test/replicas'
import { newOrganization, newReportingDevices } from '#test/reporting-device'
import { until } from '#test/until'
import { startUpgradeLoad, type UpgradeLoad } from '#test/upgrade-load'
import { freePort } from '../../apps/stack/engines/process.ts'

const minute = 60_000

/** Adds only what the previous version ignores: columns with defaults, a table, an index. */
const migration = {
  name: '9999_expand.sql',
  sql: `
    ALTER TABLE device ADD COLUMN site text;
    ALTER TABLE job ADD COLUMN urgency integer NOT NULL DEFAULT 0;
    ALTER TABLE organization ADD COLUMN region text NOT NULL DEFAULT 'eu';
    CREATE TABLE site (id uuid PRIMARY KEY, organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE);
    CREATE INDEX device_site ON device (organization_id, site);`,
}

/** Resolves when each kind of work was acknowledged again `times` times. */
async function untilMoreOfEach({ acknowledged, failures }: UpgradeLoad, times: number): Promise<void> {
  const counts = () => [
    acknowledged.devices.length,
    [...acknowledged.samples.values()].flat().length,
    acknowledged.jobs.length,
    acknowledged.succeeded.length,
  ]
  const before = counts()
  await until(
    'devices, samples and jobs were acknowledged again',
    async () => {
      expect(failures).toEqual([])
      return counts().every((count, index) => count >= (before[index] ?? 0) + times)
    },
    2 * minute,
  )
}

test('old and new replicas side by side over a migration lose nothing', { timeout: 10 * minute }, async () => {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test' })
  const questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test', maxConnections: 1 })
  const logDir = await mkdtemp(join(tmpdir(), 'routerfleet-upgrade-'))
  const next = await nextVersion(migration)
  const { adminKey } = await ensureAccess({ pool }, { demo: false })
  const organizationId = await newOrganization(pool)
  const devices = await newReportingDevices(pool, organizationId, 4)

  const ports = { ingest: await freePort(), workers: [await freePort(), await freePort()] }
  const controlPlanePorts = [await freePort(), await freePort()]
  const environment = {
    ...workerEnvironment(database.url),
    QUESTDB_URL: questdbConnection().httpUrl,
    INGEST_URL: `http://127.0.0.1:${ports.ingest}`,
    LOG_DIR: logDir,
    LOG_LEVEL: 'error',
    DEVICE_REQUESTS_PER_MINUTE: '100000',
    DEVICE_REQUEST_BURST: '100000',
  }
  const start = (version: Version, app: string, port: number) =>
    startReplica(version, { script: `apps/${app}/main.ts`, port, environment })

  const running = new Map<number, Replica>()
  const starting = [
    ['ingest', ports.ingest],
    ...ports.workers.map((port) => ['worker', port] as const),
    ...controlPlanePorts.map((port) => ['control-plane', port] as const),
  ] as const
  for (const [app, port] of starting) running.set(port, await start(thisVersion, app, port))
  const load = startUpgradeLoad({
    urls: () => controlPlanePorts.map((port) => `http://127.0.0.1:${port}`),
    adminKey,
    organizationId,
    devices,
  })
  try {
    await untilMoreOfEach(load, 5)
    // The new schema below the old replicas.
    expect(await runScript(next, 'apps/stack/setup.ts', { POSTGRES_URL: database.url })).toContain(migration.name)
    await untilMoreOfEach(load, 5)
    // One replica after the other, in the order of docs/operations.md.
    for (const [app, port] of starting) {
      await running.get(port)?.stop()
      running.delete(port)
      running.set(port, await start(next, app, port))
      await untilMoreOfEach(load, 5)
    }
    await load.stop()
    expect(load.failures).toEqual([])
    expect(load.repeated()).toBeGreaterThan(0)

    const { acknowledged } = load
    const created = await pool.query('SELECT id FROM device WHERE organization_id = $1', [organizationId])
    const expectedDevices = [...devices.map(({ id }) => id), ...acknowledged.devices]
    expect(created.rows.map(({ id }) => id).sort()).toEqual(expectedDevices.sort())
    // Nothing was created twice.
    const jobs = await pool.query<{ id: string; status: string; attempt: number; urgency: number }>(
      'SELECT id, status, attempt, urgency FROM job WHERE organization_id = $1',
      [organizationId],
    )
    expect(jobs.rows.map(({ id }) => id).sort()).toEqual([...acknowledged.jobs].sort())
    const ended = jobs.rows.filter(({ id }) => acknowledged.succeeded.includes(id))
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(new Set(acknowledged.succeeded).size).toBe(acknowledged.succeeded.length)
    await until(
      'all accepted samples are stored',
      async () => {
        for (const { id } of devices) {
          const rows = await questdb.query<{ ts: number }>('SELECT ts FROM location WHERE device_id = $1', [id])
          const stored = new Set(rows.map(({ ts }) => ts))
          const accepted = acknowledged.samples.get(id) ?? []
          if (!accepted.every((ts) => stored.has(Date.parse(ts)))) return false
        }
        return true
      },
      minute,
    )
  } finally {
    await load.stop()
    for (const replica of running.values()) await replica.stop()
    await questdb.end()
    await pool.end()
    await next.remove()
    await database.drop()
    await rm(logDir, { recursive: true, force: true })
  }
})
