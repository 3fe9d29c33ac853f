import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { closeAlert } from '#alerts/inbox/handle'
import { listAlerts } from '#alerts/inbox/read'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { failFor } from '#test/failing-organization'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { questdbConnection } from '#test/questdb'
import { recordedRounds } from '#test/recorded-rounds'
import { storeRows } from '#test/telemetry-rows'
import { evaluateMoments } from './evaluate.ts'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let system: AlertSystem

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'moments.test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'moments.test' })
  system = { pool, plans: (await createJobFleet(pool, 0)).ctx.plans, clock: Date.now }
})
afterAll(async () => {
  await questdb.end()
  await pool.end()
  await database.drop()
})

const minuteMs = 60_000
const evaluate = () => evaluateMoments(system, [questdb])
const alertsOf = async ({ ctx, organizationId }: JobFleet) =>
  (await listAlerts(ctx, { organizationId, filter: {}, page: { limit: 200, after: undefined } })).items
const measuredOf = async (fleet: JobFleet) =>
  Object.fromEntries((await alertsOf(fleet)).map(({ deviceId, measured }) => [deviceId, measured]))

const rowsOf = <Value>(
  { organizationId }: JobFleet,
  deviceId: string,
  samples: readonly [minutesAgo: number, value: Value][],
  fields: (value: Value) => Record<string, unknown>,
) =>
  samples.map(([minutesAgo, value]) => ({
    tsMs: Date.now() - minutesAgo * minuteMs,
    deviceId,
    organizationId,
    ...fields(value),
  }))

/** Uptime in minutes. */
const ran = (fleet: JobFleet, deviceId: string, ...samples: [minutesAgo: number, uptime: number][]) =>
  storeRows(
    questdb,
    'system',
    rowsOf(fleet, deviceId, samples, (uptime) => ({ uptimeS: uptime * 60, rebootReason: 'watchdog' })),
  )
const registered = (fleet: JobFleet, deviceId: string, modem: string | null, ...samples: [number, string | null][]) =>
  storeRows(
    questdb,
    'cellular',
    rowsOf(fleet, deviceId, samples, (plmn) => ({
      modem,
      plmn: plmn ?? '20404',
      operatorName: plmn && `Operator ${plmn}`,
      rat: plmn === null ? 'none' : 'lte',
    })),
  )
const held = (fleet: JobFleet, deviceId: string, modem: string, ...samples: [number, string | null][]) =>
  storeRows(
    questdb,
    'connection',
    rowsOf(fleet, deviceId, samples, (iccid) => ({ modem, iccid })),
  )

/** Lets a day pass for what was noticed. */
const dayLater = ({ organizationId }: JobFleet) =>
  pool.query("UPDATE alert_baseline SET noticed_at = noticed_at - interval '24 hours' WHERE organization_id = $1", [
    organizationId,
  ])

test('rebooted opens once for a device that started again, also after a silence or with late samples', async () => {
  const fleet = await createJobFleet(pool, 5)
  const [restarted = '', steady = '', silent = '', late = '', newborn = ''] = fleet.deviceIds
  await ran(fleet, restarted, [20, 500])
  await ran(fleet, steady, [20, 500])
  await ran(fleet, silent, [1_200, 10])
  await ran(fleet, late, [20, 500])
  await newAlertRule(fleet, { kind: 'rebooted' })
  await evaluate()
  expect(await alertsOf(fleet)).toEqual([])

  await ran(fleet, restarted, [10, 3], [9, 4])
  // A minute less than the clock says.
  await ran(fleet, steady, [10, 509])
  await ran(fleet, silent, [1, 600])
  // The samples before the restart come last.
  await ran(fleet, late, [2, 3])
  await ran(fleet, newborn, [1, 1])
  await evaluate()
  await ran(fleet, late, [10, 510])
  await evaluate()
  expect(await measuredOf(fleet)).toEqual({
    [restarted]: { uptimeS: 240, reason: 'watchdog' },
    [silent]: { uptimeS: 36_000, reason: 'watchdog' },
    [late]: { uptimeS: 180, reason: 'watchdog' },
  })
})

test('a moment closes after a day or by a person, and only a later moment opens another alert', async () => {
  const fleet = await createJobFleet(pool, 1)
  const {
    ctx,
    organizationId,
    deviceIds: [deviceId = ''],
  } = fleet
  await ran(fleet, deviceId, [60, 500])
  await newAlertRule(fleet, { kind: 'rebooted' })
  await evaluate()
  await ran(fleet, deviceId, [50, 1])
  await evaluate()
  const [first] = await alertsOf(fleet)
  await closeAlert(ctx, { organizationId, alertId: first?.id ?? '' })
  await evaluate()
  expect(await alertsOf(fleet)).toMatchObject([{ state: 'closed', closeReason: 'closed_by_user' }])

  await ran(fleet, deviceId, [40, 1])
  await evaluate()
  // One more while the alert is open.
  await ran(fleet, deviceId, [30, 1])
  await evaluate()
  expect(await alertsOf(fleet)).toMatchObject([{ state: 'open' }, { state: 'closed' }])

  await dayLater(fleet)
  await evaluate()
  await evaluate()
  expect(await alertsOf(fleet)).toMatchObject([
    { state: 'closed', closeReason: 'condition_ended' },
    { state: 'closed' },
  ])
})

test('operator_changed compares each modem with itself, and not alternating operators or lost service', async () => {
  const fleet = await createJobFleet(pool, 5)
  const [changed = '', two = '', alternating = '', lost = '', named = ''] = fleet.deviceIds
  await registered(fleet, changed, 'wwan0', [20, '26201'])
  for (const minutesAgo of [20, 18, 16]) {
    await registered(fleet, two, 'wwan0', [minutesAgo, '26201'])
    await registered(fleet, two, 'wwan1', [minutesAgo - 1, '26202'])
    await registered(fleet, alternating, null, [minutesAgo, '26201'], [minutesAgo - 1, '26202'])
  }
  await registered(fleet, lost, 'wwan0', [20, '26201'])
  await registered(fleet, named, null, [20, '26201'])
  await newAlertRule(fleet, { kind: 'operator_changed' })
  await evaluate()

  await registered(fleet, changed, 'wwan0', [5, '26202'])
  await registered(fleet, two, 'wwan0', [5, '26201'])
  await registered(fleet, alternating, null, [5, '26201'])
  await registered(fleet, lost, 'wwan0', [5, null])
  await registered(fleet, named, 'wwan0', [5, '26202'])
  await evaluate()
  await registered(fleet, alternating, null, [4, '26202'])
  await evaluate()
  expect(await measuredOf(fleet)).toEqual({
    [changed]: {
      modem: 'wwan0',
      from: { plmn: '26201', operatorName: 'Operator 26201' },
      to: { plmn: '26202', operatorName: 'Operator 26202' },
    },
  })
})

test('sim_changed opens after weeks without a report, and shows the end of the numbers', async () => {
  const fleet = await createJobFleet(pool, 2)
  const [swapped = '', kept = ''] = fleet.deviceIds
  await held(fleet, swapped, 'wwan0', [20, '8949000000000001234'])
  await held(fleet, kept, 'wwan0', [20, '8949000000000009999'])
  await newAlertRule(fleet, { kind: 'sim_changed' })
  await evaluate()
  const weekMs = 7 * 24 * 60 * minuteMs
  const inAWeek = { ...system, clock: () => Date.now() + weekMs }
  await held(fleet, swapped, 'wwan0', [5 - weekMs / minuteMs, '8949000000000005678'])
  await held(fleet, kept, 'wwan0', [6 - weekMs / minuteMs, '8949000000000009999'], [5 - weekMs / minuteMs, null])
  await evaluateMoments(inAWeek, [questdb])
  expect(await measuredOf(fleet)).toEqual({
    [swapped]: {
      modem: 'wwan0',
      from: { iccid: '***************1234' },
      to: { iccid: '***************5678' },
    },
  })
  // A copy of the database that lags shows the SIM from before.
  await evaluate()
  await evaluateMoments(inAWeek, [questdb])
  expect(await alertsOf(fleet)).toHaveLength(1)
})

test('several workers at once open one alert, and an organization that fails does not stop another', async () => {
  const [broken, healthy] = [await createJobFleet(pool, 1), await createJobFleet(pool, 3)]
  for (const fleet of [broken, healthy]) {
    for (const deviceId of fleet.deviceIds) await ran(fleet, deviceId, [20, 500])
    await newAlertRule(fleet, { kind: 'rebooted' })
  }
  await evaluate()
  for (const fleet of [broken, healthy]) for (const deviceId of fleet.deviceIds) await ran(fleet, deviceId, [10, 1])
  const repair = await failFor(pool, 'alert_baseline', broken.organizationId)
  const { rounds, failed } = recordedRounds()
  await evaluateMoments(system, [questdb], rounds)
  await repair()
  expect(failed).toEqual([broken.organizationId])
  await Promise.all([evaluate(), evaluate(), evaluate()])
  expect(await alertsOf(healthy)).toHaveLength(3)
  expect(await alertsOf(broken)).toHaveLength(1)
})
