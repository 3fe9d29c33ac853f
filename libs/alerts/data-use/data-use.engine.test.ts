import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { listAlerts } from '#alerts/inbox/read'
import { latecomers } from '#fleet/devices/ownership'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { failFor } from '#test/failing-organization'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { countOpenTransactions } from '#test/open-transactions'
import { questdbConnection } from '#test/questdb'
import { recordedRounds } from '#test/recorded-rounds'
import { transferDevice } from '#test/registered-device'
import { storeRows } from '#test/telemetry-rows'
import { evaluateDataUse } from './evaluate.ts'
import { measureDataUse } from './measure.ts'
import { readDataUse } from './read-data-use.ts'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let system: AlertSystem

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'data-use.test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'data-use.test' })
  system = { pool, plans: (await createJobFleet(pool, 0)).ctx.plans, clock: Date.now }
})
afterAll(async () => {
  await questdb.end()
  await pool.end()
  await database.drop()
})

const dayMs = 86_400_000
const todayMs = Math.floor(Date.now() / dayMs) * dayMs
const mega = 1_000_000

/** A sample of the counters: seconds after the start of the day, megabytes received and sent; null: not reported. */
type Counter = [second: number, rx: number | null, tx: number | null]

const count = ({ organizationId }: JobFleet, deviceId: string, startMs: number, ...counters: Counter[]) =>
  storeRows(
    questdb,
    'connection',
    counters.map(([second, rx, tx]) => ({
      tsMs: startMs + second * 1_000,
      deviceId,
      organizationId,
      rxBytes: rx === null ? null : rx * mega,
      txBytes: tx === null ? null : tx * mega,
    })),
  )
const alertsOf = async ({ ctx, organizationId }: JobFleet) =>
  (await listAlerts(ctx, { organizationId, filter: {}, page: { limit: 200, after: undefined } })).items

test('adds the increments of the counters, across restarts, spans and the start of the day', async () => {
  const fleet = await createJobFleet(pool, 4)
  const [steady = '', restarted = '', rxOnly = '', silent = ''] = fleet.deviceIds
  const yesterdayMs = todayMs - dayMs
  await count(fleet, steady, yesterdayMs, [-60, 10, 0], [60, 15, 1], [4_000, 20, 2], [80_000, 100, 10])
  await count(fleet, restarted, yesterdayMs, [60, 10, 0], [120, 30, 0], [180, 5, 0], [4_000, 8, 0], [8_000, 1, 0])
  await count(fleet, rxOnly, yesterdayMs, [60, 10, null], [120, 30, null], [180, null, null])
  await count(fleet, silent, todayMs, [60, 10, 0])
  const day = new Date(yesterdayMs).toISOString().slice(0, 10)
  const used = await readDataUse(questdb, day, { organizationIds: [fleet.organizationId], late: [] })
  const megabytes = Object.fromEntries(used.map(({ deviceId, bytes }) => [deviceId, bytes / mega]))
  // Steady: 110 - 10. Restarted: 20 to the first restart, 5 and 3 to the second, then 1.
  expect(megabytes).toEqual({ [steady]: 100, [restarted]: 29, [rxOnly]: 20 })
})

test('counts each direction of each modem and interface by itself', async () => {
  const fleet = await createJobFleet(pool, 5)
  const { organizationId } = fleet
  const [dual = '', failover = '', wrapped = '', partial = '', unstable = ''] = fleet.deviceIds
  const yesterdayMs = todayMs - dayMs
  type Uplink = { modem?: string; interface?: string }
  const report = (deviceId: string, uplink: Uplink, ...counters: Counter[]) =>
    storeRows(
      questdb,
      'connection',
      counters.map(([second, rxBytes, txBytes]) => ({
        tsMs: yesterdayMs + second * 1_000,
        ...{ deviceId, organizationId, rxBytes, txBytes },
        ...uplink,
      })),
    )
  // Two modems, of which one has used ten times as much as the other.
  const dualCounters = (start: number): Counter[] =>
    Array.from({ length: 41 }, (_, step) => [60 + step * 120, start + step * 1_500_000, 0])
  await report(dual, { interface: 'wwan0' }, ...dualCounters(10_000_000_000))
  await report(dual, { interface: 'wwan1' }, ...dualCounters(1_000_000_000))
  // One interface changes between two modems at the same times.
  await report(failover, { modem: 'a', interface: 'wan' }, [60, 5_000, 0], [120, 7_000, 0])
  await report(failover, { modem: 'b', interface: 'wan' }, [60, 900, 0], [120, 1_000, 0])
  // Received wraps at 2^32, while sent goes on; then received starts again.
  const wrap = 2 ** 32
  await report(wrapped, {}, [60, wrap - 1_000, 10], [120, 500, 20], [180, 700, 30], [240, 100, 40])
  // From below 2^31, and by more than 2^31, it is no wrap.
  await report(wrapped, { interface: 'b' }, [60, 2 ** 31 - 1, 0], [120, 5, 0])
  await report(wrapped, { interface: 'c' }, [60, wrap - 1, 0], [120, 2 ** 31, 0])
  // A missing value is not a zero, and the next is compared with the last that was sent.
  await report(partial, {}, [60, 1_000, 50], [120, null, 60], [180, 1_500, null], [240, null, 80], [300, 1_600, 90])
  // Several starts within minutes.
  await report(unstable, {}, [60, 10, 0], [90, 30, 0], [120, 5, 0], [150, 20, 0], [180, 3, 0])
  const day = new Date(yesterdayMs).toISOString().slice(0, 10)
  const used = await readDataUse(questdb, day, { organizationIds: [organizationId], late: [] })
  expect(Object.fromEntries(used.map(({ deviceId, bytes }) => [deviceId, bytes]))).toEqual({
    [dual]: 120_000_000,
    [failover]: 2_100,
    [wrapped]: 1_500 + 200 + 100 + 30 + 5 + 2 ** 31,
    [partial]: 600 + 40,
    [unstable]: 20 + 5 + 15 + 3,
  })
})

test('does not count what a device used under another organization', async () => {
  const [first, second] = [await createJobFleet(pool, 2), await createJobFleet(pool, 0)]
  const [moved = '', returned = ''] = first.deviceIds
  const yesterdayMs = todayMs - dayMs
  const move = (deviceId: string, to: JobFleet, second: number) =>
    transferDevice(pool, deviceId, to.organizationId, yesterdayMs + second * 1_000)
  await pool.query(
    'INSERT INTO device_ownership (device_id, organization_id, owned_from) SELECT id, $1, $2 FROM unnest($3::uuid[]) AS id',
    [first.organizationId, new Date(yesterdayMs - dayMs), first.deviceIds],
  )
  await move(moved, second, 4_000)
  await move(returned, second, 4_000)
  await move(returned, first, 8_000)
  // The samples from before the transfer were uploaded after it.
  await count(second, moved, yesterdayMs, [60, 0, 0], [3_900, 500, 0], [4_100, 600, 0], [4_200, 610, 1])
  await count(first, returned, yesterdayMs, [60, 0, 0], [3_900, 5, 0], [8_100, 900, 0], [8_200, 902, 0])
  await count(second, returned, yesterdayMs, [4_100, 100, 0], [7_900, 850, 0])
  const organizationIds = [first.organizationId, second.organizationId]
  const late = await latecomers(pool, organizationIds, yesterdayMs)
  const day = new Date(yesterdayMs).toISOString().slice(0, 10)
  const uses = await readDataUse(questdb, day, { organizationIds, late })
  const used = uses.map(({ organizationId, deviceId, bytes }) => [organizationId, deviceId, bytes / mega])
  expect(used).toHaveLength(3)
  expect(used).toEqual(
    expect.arrayContaining([
      [second.organizationId, moved, 11],
      [first.organizationId, returned, 7],
      [second.organizationId, returned, 750],
    ]),
  )
})

test('an alert opens when a device has used more than the limit of the day, and ends with the day', async () => {
  const fleet = await createJobFleet(pool, 2)
  const [heavy = '', light = ''] = fleet.deviceIds
  const elsewhere = await createJobFleet(pool, 1)
  await count(fleet, heavy, todayMs, [1, 0, 0], [2, 90, 11])
  await count(fleet, light, todayMs, [1, 0, 0], [2, 50, 50])
  await count(elsewhere, elsewhere.deviceIds[0] ?? '', todayMs, [1, 0, 0], [2, 500, 0])
  await newAlertRule(fleet, { kind: 'data_use', aboveMegabytes: 100, period: 'day' })
  await evaluateDataUse(system, [questdb])
  await evaluateDataUse(system, [questdb])
  expect(await alertsOf(fleet)).toMatchObject([
    { deviceId: heavy, since: new Date(todayMs).toISOString(), measured: { megabytes: 101 } },
  ])
  expect(await alertsOf(elsewhere)).toEqual([])
  await pool.query('UPDATE device_data_use SET day = day - 1 WHERE organization_id = $1', [fleet.organizationId])
  await evaluateDataUse(system, [questdb])
  expect(await alertsOf(fleet)).toMatchObject([{ state: 'closed', closeReason: 'condition_ended' }])
})

test('a month is the sum of its days, which are measured again until they are over', async () => {
  const fleet = await createJobFleet(pool, 1)
  const { organizationId } = fleet
  const [deviceId = ''] = fleet.deviceIds
  await count(fleet, deviceId, todayMs, [1, 0, 0], [2, 60, 0])
  await newAlertRule(fleet, { kind: 'data_use', aboveMegabytes: 100, period: 'month' })
  const measuredDays = async () =>
    (await pool.query('SELECT FROM data_use_day WHERE organization_id = $1', [organizationId])).rowCount ?? 0
  const daysSoFar = new Date(todayMs).getUTCDate()
  // A run measures ten days.
  for (let run = 0; run < 4; run++) await evaluateDataUse(system, [questdb])
  expect(await measuredDays()).toBe(daysSoFar)
  expect(await alertsOf(fleet)).toEqual([])

  await count(fleet, deviceId, todayMs, [3, 120, 0])
  expect(await measureDataUse(system, [questdb], [organizationId])).toBe(0)
  await pool.query("UPDATE data_use_day SET measured_at = now() - interval '11 minutes' WHERE organization_id = $1", [
    organizationId,
  ])
  await evaluateDataUse(system, [questdb])
  expect(await alertsOf(fleet)).toMatchObject([{ deviceId, state: 'open', measured: { megabytes: 120 } }])
})

test('an organization whose data use cannot be stored does not stop the others', async () => {
  const [broken, fleet] = [await createJobFleet(pool, 1), await createJobFleet(pool, 1)]
  for (const owner of [broken, fleet]) {
    await count(owner, owner.deviceIds[0] ?? '', todayMs, [1, 0, 0], [2, 200, 0])
    await newAlertRule(owner, { kind: 'data_use', aboveMegabytes: 100, period: 'day' })
  }
  const repair = await failFor(pool, 'device_data_use', broken.organizationId)
  const { rounds, failed } = recordedRounds()
  await evaluateDataUse(system, [questdb], rounds)
  expect(await alertsOf(fleet)).toHaveLength(1)
  expect(failed).toEqual([broken.organizationId])
  await repair()
  await evaluateDataUse(system, [questdb], rounds)
  expect(await alertsOf(broken)).toHaveLength(1)
})

test('measures organizations without rules, and a day that takes long to read less often', async () => {
  const fleet = await createJobFleet(pool, 2)
  const [used = '', uncounted = ''] = fleet.deviceIds
  await count(fleet, used, todayMs, [1, 0, 0], [2, 60, 1])
  await count(fleet, uncounted, todayMs, [1, null, null], [2, null, null])
  const measure = () => measureDataUse(system, [questdb], [fleet.organizationId])
  // A device without a counter has no data use, which is not the same as none.
  expect(await measure()).toBe(1)
  for (let round = 0; round < 3; round++) await measure()
  const takes = (tookMs: number) =>
    pool.query(
      "UPDATE data_use_day SET measured_at = now() - interval '11 minutes', took_ms = $2 WHERE organization_id = $1 AND day = $3",
      [fleet.organizationId, tookMs, new Date(todayMs).toISOString().slice(0, 10)],
    )
  await takes(60_000)
  expect(await measure()).toBe(0)
  await takes(10_000)
  expect(await measure()).toBe(1)
})

test('a new day is measured again after a minute, then ever less often', async () => {
  const fleet = await createJobFleet(pool, 1)
  const deviceId = fleet.deviceIds[0] ?? ''
  const measure = () => measureDataUse(system, [questdb], [fleet.organizationId])
  const measuredAgo = (first: number, last: number) =>
    pool.query(
      `UPDATE data_use_day SET first_measured_at = now() - make_interval(secs => $2), measured_at = now() - make_interval(secs => $3)
       WHERE organization_id = $1 AND day = $4`,
      [fleet.organizationId, first, last, new Date(todayMs).toISOString().slice(0, 10)],
    )
  // Before the first report is stored, there is nothing to measure.
  for (let round = 0; round < 4; round++) expect(await measure()).toBe(0)
  await count(fleet, deviceId, todayMs, [1, 0, 0], [2, 60, 1])
  expect(await measure()).toBe(0)
  await measuredAgo(50, 50)
  expect(await measure()).toBe(0)
  await measuredAgo(70, 70)
  expect(await measure()).toBe(1)
  await count(fleet, deviceId, todayMs, [3, 90, 2])
  await measuredAgo(310, 110)
  expect(await measure()).toBe(0)
  await measuredAgo(310, 210)
  expect(await measure()).toBe(1)
})

describe('several workers', () => {
  let fleet: JobFleet
  beforeEach(async () => {
    await pool.query('TRUNCATE alert_rule, data_use_day CASCADE')
    fleet = await createJobFleet(pool, 1)
    await count(fleet, fleet.deviceIds[0] ?? '', todayMs, [1, 0, 0], [2, 60, 0])
    await newAlertRule(fleet, { kind: 'data_use', aboveMegabytes: 100, period: 'day' })
    // Only the present day is due.
    await pool.query(
      `INSERT INTO data_use_day (organization_id, day, measured_at)
       SELECT $1, day, now() FROM generate_series(date_trunc('month', $2::date), $2::date - 1, '1 day') AS day`,
      [fleet.organizationId, new Date(todayMs).toISOString().slice(0, 10)],
    )
  })
  /** QuestDB, with something that happens before the first answer. */
  const questdbThat = (happens: () => Promise<unknown>): QuestdbSql => {
    let hasHappened = false
    return {
      ...questdb,
      queryArrays: async (...query) => {
        if (!hasHappened) {
          hasHappened = true
          await happens()
        }
        return questdb.queryArrays(...query)
      },
    }
  }

  const measure = (source = questdb) => measureDataUse(system, [source], [fleet.organizationId])

  test('no transaction is open while QuestDB is read, and another worker neither waits nor measures the same day', async () => {
    const seen: number[] = []
    const slow = questdbThat(async () => {
      seen.push(await countOpenTransactions(pool), await measure())
    })
    expect(await measure(slow)).toBe(1)
    expect(seen).toEqual([0, 0])
    expect(await measure()).toBe(0)
  })

  test('a day that could not be read is measured in the next round', async () => {
    const failing = questdbThat(() => Promise.reject(new Error('away')))
    await expect(measure(failing)).rejects.toThrow('away')
    expect(await measure()).toBe(1)
  })

  test('a day whose worker died is measured by another, and the result of the first does not count', async () => {
    const late = questdbThat(async () => {
      await pool.query("UPDATE data_use_day SET claimed_at = claimed_at - interval '6 minutes'")
      expect(await measure()).toBe(1)
    })
    expect(await measure(late)).toBe(0)
  })
})
