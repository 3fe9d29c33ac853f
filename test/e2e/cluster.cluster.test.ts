import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { createJobFleet, issueTestTokens } from '#test/job-fleet'
import { whyNoKafka } from '#test/kafka'
import type { ProductProcess } from '#test/product-process'
import { questdbConnection } from '#test/questdb'
import { hasRedis } from '#test/redis'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { startTestCluster } from '#test/test-cluster'
import { until } from '#test/until'

const problem = (await hasRedis()) ? await whyNoKafka() : 'redis-server is not on the PATH'
const waitMs = 120_000
const apps = ['control-plane', 'ingest', 'worker', 'writer']
const copies = apps.flatMap((app) => [`${app}-1`, `${app}-2`])

describe('npm start -- --cluster', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let cluster: ProductProcess
  let database: TestDatabase
  let pool: OwnedPool
  let questdb: QuestdbSql

  beforeAll(async () => {
    if (problem) return
    database = await createTestDatabase()
    pool = openPool(database.url, { applicationName: 'test' })
    questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
    cluster = await startTestCluster(database.url)
  }, 240_000)
  afterAll(async () => {
    await cluster?.stop()
    await questdb?.end()
    await pool?.end()
    await database?.drop()
  }, 180_000)

  /** Returns undefined if no copy answered. */
  async function call(method: string, path: string, token = cluster.access.adminKey, body?: unknown) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    try {
      const answer = await fetch(cluster.access.baseUrl + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return { status: answer.status, text, body: text.startsWith('{') ? JSON.parse(text) : undefined }
    } catch {
      return undefined
    }
  }

  let accepted = 0
  const afterMore = async (samples: number) => {
    const before = accepted
    await until('more is accepted', async () => accepted >= before + samples, waitMs)
  }

  /** A router that sends reports until it is stopped. Each report is sent until it is accepted. */
  async function sendReports(device: ReportingDevice, isStopped: () => boolean): Promise<void> {
    const startMs = Date.now() - 60 * 60_000
    for (let index = 0; !isStopped(); index++) {
      const samples = Array.from({ length: 5 }, (_, sample) => ({
        kind: 'system',
        ts: startMs + (index * 5 + sample) * 100,
        cpuPct: index % 100,
      }))
      await until(
        'the report is accepted',
        async () => {
          const answer = await call('POST', '/telemetry', device.token, { samples })
          if (answer) expect([202, 503]).toContain(answer.status)
          return answer?.status === 202
        },
        waitMs,
      )
      accepted += samples.length
      // Below the request limit of a device.
      await delay(600)
    }
  }

  /** A router that waits for jobs and reports that they succeeded, until it is stopped. */
  async function runJobs(token: string, isStopped: () => boolean): Promise<void> {
    while (!isStopped()) {
      const taken = await call('GET', '/device/jobs/next?waitSeconds=2', token)
      if (taken?.status !== 200) {
        await delay(taken?.status === 204 ? 0 : 500)
        continue
      }
      const { id, attempt } = taken.body
      await until(
        'the status is accepted',
        async () => {
          const answer = await call('POST', `/device/jobs/${id}/status`, token, { attempt, status: 'succeeded' })
          return answer?.status === 200 || answer?.status === 409
        },
        waitMs,
      )
    }
  }

  /** How many copies of the app respond. */
  async function copiesUp(app: string): Promise<number> {
    const text = (await call('GET', '/metrics'))?.text ?? ''
    return text.match(new RegExp(`^app_up\\{app="${app}",copy="[^"]+"\\} 1$`, 'gm'))?.length ?? 0
  }

  async function rowsOf(devices: readonly ReportingDevice[]): Promise<{ rows: number; distinct: number }> {
    const ids = devices.map(({ id }) => `'${id}'`).join(',')
    await questdb.query("SELECT wait_wal_table('system')")
    const [found] = await questdb.query<{ stored: string; keys: string }>(
      `SELECT sum(n) AS stored, count() AS keys FROM
         (SELECT ts, device_id, count() AS n FROM system WHERE device_id IN (${ids}) GROUP BY ts, device_id)`,
    )
    return { rows: Number(found?.stored ?? 0), distinct: Number(found?.keys ?? 0) }
  }

  test('two processes of each app are behind one address, and /metrics names the copies', async () => {
    for (const copy of copies) expect([copy, cluster.pidOf(copy)]).toEqual([copy, expect.any(Number)])
    expect(new Set(copies.map(cluster.pidOf)).size).toBe(copies.length)
    for (const copy of copies) expect(cluster.output()).toMatch(new RegExp(`${copy} +ready in`))
    const ready = await call('GET', '/readyz')
    expect(ready).toMatchObject({
      status: 200,
      body: {
        checks: { postgres: 'ok', questdb: 'ok', ingest: 'ok', worker: 'ok', writer: 'ok', 'control-plane': 'ok' },
      },
    })
    for (const app of apps) expect([app, await copiesUp(app)]).toEqual([app, 2])
  })

  test('kill -9 of one copy of each app: accepted is stored once, the API answers, every job ends', async () => {
    const devices = await newReportingDevices(pool, await newOrganization(pool), 12)
    const fleet = await createJobFleet(pool, 8)
    const tokens = await issueTestTokens(pool, fleet.organizationId, fleet.deviceIds)
    let isStopping = false
    const isStopped = () => isStopping
    const sending = devices.map((device) => sendReports(device, isStopped))
    const working = tokens.map((token) => runJobs(token, isStopped))

    const batches: string[] = []
    for (const app of apps) {
      const created = await until(
        'a group job is created',
        async () => {
          const path = `/orgs/${fleet.organizationId}/groups/${fleet.groupId}/jobs`
          const answer = await call('POST', path, undefined, { kind: 'speed_test' })
          return answer?.status === 202 && answer
        },
        waitMs,
      )
      batches.push(created.body.id)
      const copy = `${app}-1`
      const killed = cluster.pidOf(copy)
      process.kill(killed, 'SIGKILL')
      await until('the API answers again', async () => (await call('GET', '/devices'))?.status === 200, 5_000)
      await afterMore(120)
      await until(`${copy} is back`, async () => (await copiesUp(app)) === 2 && cluster.pidOf(copy) !== killed, waitMs)
    }
    for (const id of batches) {
      await until(
        `the jobs of ${id} end`,
        async () => {
          const batch = await call('GET', `/orgs/${fleet.organizationId}/job-batches/${id}`)
          return batch?.body?.counts?.succeeded === fleet.deviceIds.length
        },
        waitMs,
      )
    }
    isStopping = true
    await Promise.all([...sending, ...working])
    await until('all is stored', async () => (await rowsOf(devices)).rows >= accepted, waitMs)
    expect(await rowsOf(devices)).toEqual({ rows: accepted, distinct: accepted })
  }, 600_000)
})
