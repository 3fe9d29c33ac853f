import { setTimeout as delay } from 'node:timers/promises'
import type { QuestdbSql } from '#questdb/server/sql'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { until } from '#test/until'
import type { Finding } from '../fault.ts'
import { startReportLoad } from '../report-load.ts'
import { type Client, createClient } from './client.ts'
import { watchFreshness } from './freshness.ts'
import { startGroupJobs } from './group-jobs.ts'
import type { ClusterScene } from './scene.ts'

type ClusterLoad = {
  /** The client of all operators, which records failed requests. */
  operator: Client
  /** Waits until as many further reports as there are routers are accepted. */
  accepts(): Promise<void>
  /** Waits for further reports and answers to operators. */
  progress(): Promise<void>
  /** Waits for all reports, jobs and rows. */
  finish(): Promise<Finding[]>
}

const routers = 16
const samplesOfRound = routers * 30
const readers = 3
const progressLimitMs = 180_000
const storeLimitMs = 240_000

/** Routers that report, operators who read, and group jobs. All devices are new, so their rows can be counted. */
export async function startClusterLoad(scene: ClusterScene): Promise<ClusterLoad> {
  const { pool, baseUrl, adminKey, questdbs } = scene
  const organizationId = await newOrganization(pool)
  const devices = await newReportingDevices(pool, organizationId, routers)
  const [watched] = await newReportingDevices(pool, organizationId, 1)
  if (!watched) throw new Error('No device was registered.')

  const operator = createClient(baseUrl, adminKey)
  const reports = startReportLoad(baseUrl, devices, { pauseMs: 400 })
  const freshness = watchFreshness(baseUrl, watched, operator)
  const jobs = await startGroupJobs(scene, operator)
  let isFinishing = false
  const paths = [
    '/devices?limit=20',
    `/fleet/gps?orgId=${organizationId}`,
    `/orgs/${organizationId}/groups`,
    `/api/router/${watched.id}/telemetry/history?kind=system&limit=20`,
  ]
  async function readForEver(first: number): Promise<void> {
    for (let index = first; !isFinishing; index++) {
      await operator.call('GET', paths[index % paths.length] ?? '/devices')
      await delay(200)
    }
  }
  const reading = Promise.all(Array.from({ length: readers }, (_, index) => readForEver(index)))

  async function accepts(): Promise<void> {
    const before = reports.accepted()
    await until('reports are accepted', async () => reports.accepted() >= before + samplesOfRound, progressLimitMs)
  }

  return {
    operator,
    accepts,
    async progress() {
      const before = operator.answers()
      await accepts()
      await until('operators are answered', async () => operator.answers() >= before + readers, progressLimitMs)
    },
    async finish() {
      const [ofFreshness, ofJobs] = await Promise.all([freshness.finish(), jobs.finish(), reports.finish()])
      isFinishing = true
      await reading
      const stored: Finding[] = []
      for (const [index, questdb] of questdbs.entries()) {
        const name = questdbs.length === 1 ? 'QuestDB' : `QuestDB ${index + 1}`
        stored.push(...(await verifyRows(name, questdb, devices, reports.accepted())))
      }
      return [
        {
          what: 'the load ran',
          held: reports.accepted() > 0 && jobs.created() > 0,
          detail: `${reports.repeats()} repeated reports ${JSON.stringify(reports.repeatsByReason())}, ${operator.answers()} answers to operators, ${jobs.created()} batches`,
        },
        {
          what: 'reports get only 202, 429 and 503',
          held: reports.unexpected().length === 0,
          detail: reports.unexpected()[0] ?? 'yes',
        },
        ...stored,
        ...ofJobs,
        ...ofFreshness,
      ]
    },
  }
}

async function verifyRows(
  name: string,
  questdb: QuestdbSql,
  devices: readonly ReportingDevice[],
  accepted: number,
): Promise<Finding[]> {
  let counted = { rows: 0, distinct: 0 }
  const isStored = async () => {
    counted = await countRowsOf(questdb, devices)
    return counted.rows >= accepted
  }
  // If this times out, the counts say what is missing.
  await until('all samples are stored', () => isStored().catch(() => false), storeLimitMs).catch(() => undefined)
  const { rows, distinct } = counted
  return [
    { what: `accepted = stored on ${name}`, held: rows === accepted, detail: `${accepted} accepted, ${rows} rows` },
    { what: `no duplicates on ${name}`, held: rows === distinct, detail: `${rows} rows, ${distinct} distinct` },
  ]
}

/** Counts the rows of these devices in the tables of the load, and their distinct (time, device) keys. */
async function countRowsOf(questdb: QuestdbSql, devices: readonly ReportingDevice[]) {
  const ids = devices.map(({ id }) => `'${id}'`).join(',')
  const counted = { rows: 0, distinct: 0 }
  for (const table of ['cellular', 'location', 'system']) {
    await questdb.query(`SELECT wait_wal_table('${table}')`)
    const [found] = await questdb.query<{ rows: string | null; keys: string }>(
      `SELECT sum(n) AS rows, count() AS keys FROM
         (SELECT ts, device_id, count() AS n FROM ${table} WHERE device_id IN (${ids}) GROUP BY ts, device_id)`,
    )
    counted.rows += Number(found?.rows ?? 0)
    counted.distinct += Number(found?.keys ?? 0)
  }
  return counted
}
