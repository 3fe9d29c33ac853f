import { afterAll, beforeAll, expect, test } from 'vitest'
import { listAlerts } from '#alerts/inbox/read'
import type { AlertCondition } from '#alerts/rules/condition'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { failFor } from '#test/failing-organization'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { questdbConnection } from '#test/questdb'
import { recordedRounds } from '#test/recorded-rounds'
import { transferDevice } from '#test/registered-device'
import { storeRows } from '#test/telemetry-rows'
import type { AlertSystem } from './changes.ts'
import { evaluateTelemetry } from './telemetry.ts'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let system: AlertSystem

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'alerts.test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'alerts.test' })
  system = { pool, plans: (await createJobFleet(pool, 0)).ctx.plans, clock: Date.now }
})
afterAll(async () => {
  await questdb.end()
  await pool.end()
  await database.drop()
})

type Sample = [minutesAgo: number, value: number | null]

const weak: AlertCondition = { kind: 'weak_signal', rsrpBelowDbm: -110, forMinutes: 10 }
const evaluate = () => evaluateTelemetry(system, [questdb])
const page = { limit: 200, after: undefined }
const alertsOf = async ({ ctx, organizationId }: JobFleet) =>
  (await listAlerts(ctx, { organizationId, filter: {}, page })).items

const rowOf = ({ organizationId }: JobFleet, deviceId: string, minutesAgo: number) => ({
  tsMs: Date.now() - minutesAgo * 60_000,
  deviceId,
  organizationId,
})

/** RSRP in dBm; null: no service. */
const measureSignal = (fleet: JobFleet, deviceId: string, ...samples: Sample[]) =>
  storeRows(
    questdb,
    'cellular',
    samples.map(([minutesAgo, rsrpDbm]) => ({
      ...rowOf(fleet, deviceId, minutesAgo),
      rsrpDbm,
      rat: rsrpDbm === null ? 'none' : 'lte',
    })),
  )

async function newFleet(...devices: Sample[][]): Promise<JobFleet> {
  const fleet = await createJobFleet(pool, devices.length)
  for (const [index, samples] of devices.entries()) {
    await measureSignal(fleet, fleet.deviceIds[index] ?? '', ...samples)
  }
  return fleet
}

test('weak_signal opens when all samples of the period are below, and closes with the first good one', async () => {
  const fleet = await newFleet(
    [
      [20, -90],
      [11, -115],
      [5, -112],
      [1, -118],
    ],
    [
      [20, -115],
      [5, -115],
      [1, -100],
    ],
    [
      [20, -115],
      [5, -100],
      [1, -115],
    ],
    [
      [9, -115],
      [1, -115],
    ],
    [
      [20, null],
      [11, null],
      [1, null],
    ],
    [
      [20, -110],
      [11, -110],
      [1, -110],
    ],
  )
  const [below = '', , , , noService = ''] = fleet.deviceIds
  await newAlertRule(fleet, weak)
  await evaluate()
  await evaluate()
  const alerts = await alertsOf(fleet)
  expect(alerts).toHaveLength(2)
  expect(alerts.find(({ deviceId }) => deviceId === below)).toMatchObject({
    kind: 'weak_signal',
    state: 'open',
    measured: { rsrpDbm: -118 },
  })
  expect(alerts.find(({ deviceId }) => deviceId === noService)).toMatchObject({ measured: { rsrpDbm: null } })

  await measureSignal(fleet, below, [0, -105])
  await evaluate()
  expect((await alertsOf(fleet)).find(({ deviceId }) => deviceId === below)).toMatchObject({
    state: 'closed',
    closeReason: 'condition_ended',
  })
})

test('samples from before a transfer do not count for the new owner', async () => {
  const [before, fleet] = [await createJobFleet(pool, 2), await createJobFleet(pool, 0)]
  const [recent = '', earlier = ''] = before.deviceIds
  await pool.query(
    `INSERT INTO device_ownership (device_id, organization_id, owned_from)
     SELECT id, $1, now() - interval '1 day' FROM unnest($2::uuid[]) AS id`,
    [before.organizationId, before.deviceIds],
  )
  await transferDevice(pool, recent, fleet.organizationId, Date.now() - 5 * 60_000)
  await transferDevice(pool, earlier, fleet.organizationId, Date.now() - 30 * 60_000)
  for (const deviceId of before.deviceIds)
    await measureSignal(fleet, deviceId, [40, -115], [20, -115], [11, -115], [1, -118])
  await newAlertRule(fleet, weak)
  await evaluate()
  expect(await alertsOf(fleet)).toMatchObject([{ deviceId: earlier, measured: { rsrpDbm: -118 } }])
})

test('a device that became silent keeps its state', async () => {
  const fleet = await newFleet(
    [
      [12, -115],
      [11, -115],
      [1, -115],
    ],
    [
      [24, -115],
      [23, -115],
      [16, -115],
    ],
  )
  const [alerted = ''] = fleet.deviceIds
  await newAlertRule(fleet, weak)
  await evaluate()
  expect((await alertsOf(fleet)).map(({ deviceId }) => deviceId)).toEqual([alerted])
  await pool.query("UPDATE alert SET since = since - interval '1 hour' WHERE device_id = $1", [alerted])
  await evaluate()
  expect(await alertsOf(fleet)).toMatchObject([{ state: 'open' }])
})

test('rules of other organizations and with other thresholds see their own devices only', async () => {
  const low: Sample[] = [
    [12, -115],
    [1, -115],
  ]
  const [one, two, three] = [await newFleet(low), await newFleet(low), await newFleet(low)]
  await newAlertRule(one, weak)
  await newAlertRule(two, weak, { tags: ['none of them has it'] })
  await newAlertRule(three, { ...weak, rsrpBelowDbm: -120 })
  await evaluate()
  expect(await alertsOf(one)).toHaveLength(1)
  expect(await alertsOf(two)).toEqual([])
  expect(await alertsOf(three)).toEqual([])
})

test('high_temperature uses the hotter of board and modem', async () => {
  const fleet = await createJobFleet(pool, 3)
  const [board = '', modem = '', cool = ''] = fleet.deviceIds
  await storeRows(
    questdb,
    'system',
    [6, 1].flatMap((minutesAgo) => [
      { ...rowOf(fleet, board, minutesAgo), temperatureC: 81 },
      { ...rowOf(fleet, modem, minutesAgo), temperatureC: 40, modemTemperatureC: 85 },
      { ...rowOf(fleet, cool, minutesAgo), temperatureC: 80 },
    ]),
  )
  await newAlertRule(fleet, { kind: 'high_temperature', temperatureAboveC: 80, forMinutes: 5 })
  await evaluate()
  const measured = (await alertsOf(fleet)).map((alert) => [alert.deviceId, alert.measured])
  expect(Object.fromEntries(measured)).toEqual({ [board]: { temperatureC: 81 }, [modem]: { temperatureC: 85 } })
})

test('low_voltage opens when the supply was below during the period, and ends with a higher voltage', async () => {
  const fleet = await createJobFleet(pool, 3)
  const [low = '', recovered = '', silent = ''] = fleet.deviceIds
  const measureVoltage = (deviceId: string, ...samples: Sample[]) =>
    storeRows(
      questdb,
      'system',
      samples.map(([minutesAgo, inputVoltageV]) => ({ ...rowOf(fleet, deviceId, minutesAgo), inputVoltageV })),
    )
  await measureVoltage(low, [11, 11.4], [1, 11.2])
  await measureVoltage(recovered, [11, 11.4], [1, 11.5])
  await measureVoltage(silent, [11, null], [1, null])
  await newAlertRule(fleet, { kind: 'low_voltage', voltageBelowV: 11.5, forMinutes: 10 })
  await evaluate()
  expect(await alertsOf(fleet)).toMatchObject([{ deviceId: low, state: 'open', measured: { voltageV: 11.2 } }])
  await measureVoltage(low, [0, 12.6])
  await evaluate()
  expect(await alertsOf(fleet)).toMatchObject([{ state: 'closed', closeReason: 'condition_ended' }])
})

test('modem_down opens for a modem without service or report while the device reports, and ends when every modem is up', async () => {
  const fleet = await createJobFleet(pool, 9)
  const [
    dark = '',
    gone = '',
    silent = '',
    brief = '',
    fine = '',
    named = '',
    nameless = '',
    offline = '',
    online = '',
  ] = fleet.deviceIds
  const radio = (deviceId: string, modem: string | null, ...samples: [minutesAgo: number, rat: string][]) =>
    samples.map(([minutesAgo, rat]) => ({ ...rowOf(fleet, deviceId, minutesAgo), modem, rat }))
  const up = (deviceId: string) => radio(deviceId, 'wwan0', [40, 'lte'], [20, 'lte'], [1, 'lte'])
  await storeRows(questdb, 'cellular', [
    ...up(dark),
    ...radio(dark, 'wwan1', [40, 'lte'], [20, 'none'], [1, 'none']),
    ...up(gone),
    ...radio(gone, 'wwan1', [600, 'lte']),
    // The whole device has stopped.
    ...radio(silent, 'wwan0', [41, 'lte']),
    ...radio(silent, 'wwan1', [40, 'lte']),
    ...up(brief),
    ...radio(brief, 'wwan1', [20, 'lte'], [1, 'none']),
    ...up(fine),
    // Seen too long ago.
    ...radio(fine, 'wwan1', [25 * 60, 'lte']),
    // After an update, the router names the modem that it had.
    ...radio(named, null, [60, 'lte']),
    ...up(named),
    ...radio(nameless, null, [40, 'lte'], [20, 'none'], [1, 'none']),
    ...radio(nameless, 'wwan0', [60, 'lte'], [1.5, 'lte']),
  ])
  // These send connections only.
  const link = (deviceId: string, modem: string, minutesAgo: number, values: object) => ({
    ...{ ...rowOf(fleet, deviceId, minutesAgo), modem, ...values },
  })
  await storeRows(questdb, 'connection', [
    link(offline, 'wwan0', 40, { state: 'connected' }),
    link(offline, 'wwan0', 20, { state: 'searching', registration: 'searching' }),
    link(offline, 'wwan0', 1, { state: 'disconnected', registration: 'denied' }),
    link(online, 'wwan0', 40, { state: 'disconnected' }),
    link(online, 'wwan0', 1, { state: 'connected' }),
    link(online, 'wwan1', 40, { state: 'disconnected' }),
    link(online, 'wwan1', 1, { state: 'disconnected', registration: 'home' }),
    link(online, 'wwan2', 40, { state: 'disconnected' }),
    link(online, 'wwan2', 1, { latencyMs: 40 }),
  ])
  await newAlertRule(fleet, { kind: 'modem_down', forMinutes: 30 })
  await evaluate()
  const open = (await alertsOf(fleet)).map((alert) => [alert.deviceId, alert.measured])
  const down = {
    [dark]: { modem: 'wwan1' },
    [gone]: { modem: 'wwan1' },
    [nameless]: { modem: null },
    [offline]: { modem: 'wwan0' },
  }
  expect(Object.fromEntries(open)).toEqual(down)

  await storeRows(questdb, 'cellular', radio(dark, 'wwan1', [0.5, 'lte']))
  await evaluate()
  const states = (await alertsOf(fleet)).map(({ deviceId, state }) => [deviceId, state])
  expect(Object.fromEntries(states)).toEqual({
    ...{ [dark]: 'closed', [gone]: 'open', [nameless]: 'open', [offline]: 'open' },
  })
})

test('modem_down does not open between the rare radio samples of a connected modem, and opens when they have no service', async () => {
  const fleet = await createJobFleet(pool, 9)
  const [rare = '', back = '', lost = '', denied = '', first = '', spare = '', wired = '', nameless = '', only = ''] =
    fleet.deviceIds
  const radio = (deviceId: string, modem: string | null, ...samples: [minutesAgo: number, rat: string][]) =>
    samples.map(([minutesAgo, rat]) => ({ ...rowOf(fleet, deviceId, minutesAgo), modem, rat }))
  const links = (deviceId: string, modem: string | null, fromMinutesAgo: number, toMinutesAgo: number, values = {}) =>
    Array.from({ length: fromMinutesAgo - toMinutesAgo + 1 }, (_, index) => ({
      ...{ ...rowOf(fleet, deviceId, fromMinutesAgo - index), modem, interface: 'wan', state: 'connected', ...values },
    }))
  const everyMinute = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, index): [number, string] => [from - index, 'none'])
  await storeRows(questdb, 'cellular', [
    ...radio(rare, 'a', [40, 'lte'], [20, 'lte']),
    // The radio had no service, and the connection is newer.
    ...radio(back, 'a', [40, 'lte'], [20, 'none']),
    ...radio(lost, 'a', [40, 'lte'], ...everyMinute(8, 1)),
    // A connection stays connected beside a radio without service.
    ...radio(denied, 'a', [40, 'lte'], ...everyMinute(8, 1)),
    // The first sample without service is as old as the newest connection.
    ...radio(first, 'a', [20, 'lte'], [1, 'none']),
    ...radio(spare, 'a', [20, 'lte']),
    ...radio(wired, null, [20, 'lte']),
    ...radio(nameless, null, [40, 'lte'], [1, 'none']),
    ...radio(only, null, [40, 'lte'], ...everyMinute(8, 1)),
  ])
  await storeRows(questdb, 'connection', [
    ...links(rare, 'a', 20, 1),
    ...links(back, 'a', 20, 1),
    ...links(lost, 'a', 20, 9),
    ...links(denied, 'a', 20, 1),
    ...links(first, 'a', 20, 1),
    ...links(spare, 'a', 20, 1, { state: 'disconnected', registration: 'home' }),
    ...links(wired, null, 20, 1, { interface: 'eth0' }),
    ...links(nameless, null, 20, 1, { interface: 'wwan0' }),
    ...links(only, null, 20, 1, { interface: 'wwan0' }),
  ])
  await newAlertRule(fleet, { kind: 'modem_down', forMinutes: 5 })
  await evaluate()
  const open = (await alertsOf(fleet)).map(({ deviceId }) => deviceId)
  expect(open.toSorted()).toEqual([lost, denied, wired, only].toSorted())
  await storeRows(questdb, 'cellular', radio(lost, 'a', [0, 'lte']))
  await evaluate()
  const closed = (await alertsOf(fleet)).filter(({ state }) => state === 'closed')
  expect(closed.map(({ deviceId }) => deviceId)).toEqual([lost])
})

test('modem_down opens while a device sends positions only, and keeps its state when the device is silent', async () => {
  const fleet = await createJobFleet(pool, 3)
  const [moving = '', stopped = '', served = ''] = fleet.deviceIds
  const radio = (deviceId: string, minutesAgo: number) => ({ ...rowOf(fleet, deviceId, minutesAgo), rat: 'lte' })
  const position = (deviceId: string, minutesAgo: number) => ({ ...rowOf(fleet, deviceId, minutesAgo), lat: 1, lon: 2 })
  await storeRows(questdb, 'cellular', [radio(moving, 60), radio(stopped, 60), radio(served, 60), radio(served, 2)])
  await storeRows(questdb, 'location', [position(moving, 1), position(stopped, 45), position(served, 1)])
  await newAlertRule(fleet, { kind: 'modem_down', forMinutes: 30 })
  await evaluate()
  const states = async () => (await alertsOf(fleet)).map(({ deviceId, state }) => [deviceId, state])
  expect(await states()).toEqual([[moving, 'open']])
  // An hour later, the device has sent nothing more. Then its modem is back.
  const clock = () => Date.now() + 60 * 60_000
  await evaluateTelemetry({ ...system, clock }, [questdb])
  expect(await states()).toEqual([[moving, 'open']])
  await storeRows(questdb, 'cellular', [radio(moving, 0)])
  await evaluate()
  expect(await states()).toEqual([[moving, 'closed']])
})

test('modem_down does not open for a wired uplink or a modem that has another name now', async () => {
  const fleet = await createJobFleet(pool, 5)
  const [wired = '', backup = '', renamed = '', moved = '', unnamed = ''] = fleet.deviceIds
  const link = (deviceId: string, modem: string | null, minutesAgo: number, values: object) => ({
    ...{ ...rowOf(fleet, deviceId, minutesAgo), modem, ...values },
  })
  const failed = (deviceId: string, uplink: string) => [
    link(deviceId, null, 60, { state: 'connected', interface: uplink }),
    link(deviceId, null, 20, { state: 'failed', interface: uplink }),
    link(deviceId, null, 1, { state: 'failed', interface: uplink }),
  ]
  await storeRows(questdb, 'connection', [
    ...failed(wired, 'eth0'),
    ...failed(backup, 'eth0.2'),
    link(backup, 'wwan0', 1, { state: 'connected' }),
    link(renamed, '0', 90, { state: 'connected', iccid: '8949000000000000001' }),
    link(renamed, '1', 60, { state: 'connected', iccid: '8949000000000000001' }),
    link(renamed, '1', 1, { state: 'connected', iccid: '8949000000000000001' }),
    // Both have reported at the same time, so one of them lacks its SIM.
    link(moved, 'a', 60, { state: 'connected', imsi: '262010000000001' }),
    link(moved, 'b', 50, { state: 'connected', imsi: '262010000000001' }),
    link(moved, 'a', 45, { state: 'failed' }),
    link(moved, 'b', 1, { state: 'connected', imsi: '262010000000001' }),
    ...failed(unnamed, 'wwan0'),
  ])
  await newAlertRule(fleet, { kind: 'modem_down', forMinutes: 30 })
  await evaluate()
  const open = (await alertsOf(fleet)).map((alert) => [alert.deviceId, alert.measured])
  expect(Object.fromEntries(open)).toEqual({ [moved]: { modem: 'a' }, [unnamed]: { modem: null } })
})

test('reads the next copy when the first does not answer, and fails when none does', async () => {
  const fleet = await newFleet([
    [12, -115],
    [1, -115],
  ])
  await newAlertRule(fleet, weak)
  const dead = openQuestdbSql('postgresql://127.0.0.1:9/qdb', { applicationName: 'alerts.test' })
  await expect(evaluateTelemetry(system, [dead])).rejects.toThrow()
  expect(await alertsOf(fleet)).toEqual([])
  await evaluateTelemetry(system, [dead, questdb])
  expect(await alertsOf(fleet)).toHaveLength(1)
  await dead.end()
})

const alwaysWeak: Sample[] = [
  [12, -120],
  [1, -120],
]

test('an organization whose alerts cannot be stored does not stop the others', async () => {
  const [broken, fleet] = [await newFleet(alwaysWeak), await newFleet(alwaysWeak)]
  // Small organizations with the same limit share their statements.
  for (const owner of [broken, fleet]) await newAlertRule(owner, weak)
  const repair = await failFor(pool, 'alert', broken.organizationId)
  const { rounds, failed } = recordedRounds()
  await evaluateTelemetry(system, [questdb], rounds)
  expect(await alertsOf(fleet)).toHaveLength(1)
  expect(failed).toEqual([broken.organizationId])
  await repair()
  await evaluateTelemetry(system, [questdb], rounds)
  expect(await alertsOf(broken)).toHaveLength(1)
})

test('an organization with many limits takes turns with another one, and has each alert once in the end', async () => {
  await pool.query('DELETE FROM alert_rule')
  const [large, fleet] = [await newFleet(alwaysWeak), await newFleet(alwaysWeak)]
  const limits = 12
  for (let limit = 0; limit < limits; limit++) await newAlertRule(large, { ...weak, rsrpBelowDbm: -119 + limit })
  await newAlertRule(fleet, weak)
  const { rounds } = recordedRounds({ stepMs: 1_000 })
  // A turn has one query here, and a limit needs two.
  await evaluateTelemetry(system, [questdb], rounds)
  await evaluateTelemetry(system, [questdb], rounds)
  expect(await alertsOf(fleet)).toHaveLength(1)
  expect((await alertsOf(large)).length).toBeLessThan(limits)
  for (let round = 0; round < 6; round++) await evaluateTelemetry(system, [questdb], rounds)
  expect(await alertsOf(large)).toHaveLength(limits)
  expect(await alertsOf(fleet)).toHaveLength(1)
})
