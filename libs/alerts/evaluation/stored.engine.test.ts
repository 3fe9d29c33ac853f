import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alertEvents } from '#alerts/inbox/device-events'
import { acknowledgeAlert, closeAlert } from '#alerts/inbox/handle'
import { listAlerts } from '#alerts/inbox/read'
import { deleteAlertRule, updateAlertRule } from '#alerts/rules/change'
import type { AlertCondition } from '#alerts/rules/condition'
import type { Towns } from '#core/near'
import { deleteDevice } from '#fleet/devices/delete'
import { transferDevice } from '#fleet/devices/transfer'
import { type OwnedPool, openPool } from '#postgres/pool'
import { newAlertRule } from '#test/alert-rules'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { failFor } from '#test/failing-organization'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { recordedRounds } from '#test/recorded-rounds'
import type { AlertSystem } from './changes.ts'
import { evaluateStored } from './stored.ts'

let database: TestDatabase
let pool: OwnedPool
let system: AlertSystem
const anyRevision = { precondition: () => {} }

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'alerts.test' })
  system = { pool, plans: (await createJobFleet(pool, 0)).ctx.plans, clock: Date.now }
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const offline: AlertCondition = { kind: 'offline', forMinutes: 30 }
const page = { limit: 200, after: undefined }

/** A fleet whose devices reported so many minutes ago; null: never. */
async function newFleet(...silentMinutes: (number | null)[]): Promise<JobFleet & { first: string; second: string }> {
  const fleet = await createJobFleet(pool, silentMinutes.length)
  for (const [index, deviceId] of fleet.deviceIds.entries()) await report(deviceId, silentMinutes[index] ?? null)
  const [first = '', second = ''] = fleet.deviceIds
  return { ...fleet, first, second }
}

const report = (deviceId: string, minutesAgo: number | null = 0) =>
  pool.query('UPDATE device SET last_seen_at = now() - make_interval(mins => $2) WHERE id = $1', [deviceId, minutesAgo])

const move = (deviceId: string, lat: number, lon: number, minutesAgo = 0) =>
  pool.query(
    `UPDATE device SET last_lat = $2, last_lon = $3, last_fix_at = now() - make_interval(mins => $4), last_seen_at = now()
     WHERE id = $1`,
    [deviceId, lat, lon, minutesAgo],
  )

const alertsOf = async ({ ctx, organizationId }: JobFleet, filter = {}) =>
  (await listAlerts(ctx, { organizationId, filter, page })).items

const alertedDevices = async (fleet: JobFleet, filter = {}) =>
  (await alertsOf(fleet, filter)).map(({ deviceId }) => deviceId).sort()

async function eventsOf({ organizationId }: JobFleet): Promise<string[]> {
  const { rows } = await pool.query<{ type: string }>(
    "SELECT type FROM outbox_event WHERE organization_id = $1 AND type LIKE 'alert.%' ORDER BY id",
    [organizationId],
  )
  return rows.map(({ type }) => type)
}

describe('offline', () => {
  test('an alert opens once after the period, closes with the next report, and opens again as another one', async () => {
    const fleet = await newFleet(29, 31, null)
    const rule = await newAlertRule(fleet, offline, { severity: 'critical' })
    await evaluateStored(system)
    await evaluateStored(system)
    const [alert, ...others] = await alertsOf(fleet)
    expect(others).toEqual([])
    expect(alert).toMatchObject({
      ruleId: rule.id,
      ruleName: 'Rule offline',
      kind: 'offline',
      severity: 'critical',
      state: 'open',
      deviceId: fleet.second,
      deviceName: 'Router 2',
      measured: { lastSeenAt: alert?.since },
    })
    await report(fleet.second)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([
      {
        id: alert?.id,
        state: 'closed',
        closedBy: 'system',
        closeReason: 'condition_ended',
        endedAt: expect.any(String),
      },
    ])
    await report(fleet.second, 40)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([{ state: 'open' }, { id: alert?.id, state: 'closed' }])
    expect(await eventsOf(fleet)).toEqual(['alert.opened', 'alert.closed', 'alert.opened'])
  })

  test('an alert, its event and its place in the story of the device name the town where the device last was', async () => {
    const fleet = await newFleet(0, 60, 60)
    const towns: Towns = {
      near: (positions) =>
        Promise.resolve(
          positions.map(({ lat, lon }) => ({ name: `${lat},${lon}`, country: 'NL', distanceKm: 3, bearing: 90 })),
        ),
    }
    await move(fleet.second, 52, 5, 60)
    await report(fleet.second, 60)
    await newAlertRule(fleet, offline)
    await evaluateStored({ ...system, towns })
    const near = { name: '52,5', country: 'NL', distanceKm: 3, bearing: 90 }
    const alerts = await alertsOf(fleet)
    expect(alerts.map((alert) => [alert.deviceId, alert.near])).toEqual(
      expect.arrayContaining([
        [fleet.second, near],
        [fleet.deviceIds[2], null],
      ]),
    )
    const { rows } = await pool.query(
      "SELECT payload->'near' AS near FROM outbox_event WHERE organization_id = $1 AND payload->>'deviceId' = $2",
      [fleet.organizationId, fleet.second],
    )
    expect(rows).toEqual([{ near }])
    const query = { organizationId: fleet.organizationId, deviceId: fleet.second, untilMs: Date.now(), limit: 5 }
    expect(await alertEvents(pool, query)).toMatchObject([{ action: 'opened', detail: { near } }])
  })

  test('concurrent workers open one alert and publish one event for each device', async () => {
    const fleet = await newFleet(...Array.from({ length: 50 }, () => 60))
    await newAlertRule(fleet, offline)
    const others = [0, 1, 2].map(() => openPool(database.url, { applicationName: 'other worker' }))
    await Promise.all([...others, ...others].map((other) => evaluateStored({ ...system, pool: other })))
    await evaluateStored(system)
    expect(await alertedDevices(fleet)).toEqual([...fleet.deviceIds].sort())
    expect(await eventsOf(fleet)).toHaveLength(50)
    const again = pool.query(
      `INSERT INTO alert SELECT (alert).* FROM (
         SELECT jsonb_populate_record(alert, jsonb_build_object('id', uuidv7())) AS alert FROM alert
         WHERE organization_id = $1 LIMIT 1) copied`,
      [fleet.organizationId],
    )
    await expect(again).rejects.toMatchObject({ constraint: 'alert_unended' })
    await Promise.all(others.map((other) => other.end()))
  })

  test('applies only to devices of its organization, with its tags, in its group, and not disabled', async () => {
    const fleet = await newFleet(60, 60, 60, 60)
    const [inGroup = '', tagged = '', disabled = '', other = ''] = fleet.deviceIds
    const { organizationId, groupId } = fleet
    await pool.query('DELETE FROM device_group_member WHERE group_id = $1 AND device_id <> $2', [groupId, inGroup])
    await pool.query("UPDATE device_group SET smart_tags = '{truck}' WHERE id = $1", [groupId])
    await pool.query("UPDATE device SET tags = '{truck,north}' WHERE id = ANY ($1)", [[tagged, disabled]])
    await pool.query("UPDATE device SET status = 'disabled' WHERE id = $1", [disabled])
    const byGroup = await newAlertRule(fleet, offline, { groupId })
    const byTag = await newAlertRule(fleet, offline, { tags: ['truck', 'north'] })
    const everything = await newAlertRule(fleet, offline)
    const foreign = await newFleet(60)
    await evaluateStored(system)
    expect(await alertedDevices(fleet, { ruleId: byGroup.id })).toEqual([inGroup, tagged].sort())
    expect(await alertedDevices(fleet, { ruleId: byTag.id })).toEqual([tagged])
    expect(await alertedDevices(fleet, { ruleId: everything.id })).toEqual([inGroup, tagged, other].sort())
    expect(await alertsOf(foreign)).toEqual([])

    await pool.query("UPDATE organization SET plan = 'free' WHERE id = $1", [organizationId])
    await evaluateStored(system)
    expect(await alertsOf(fleet, { ruleId: byGroup.id, deviceId: tagged })).toMatchObject([
      { state: 'closed', closeReason: 'out_of_scope' },
    ])
    expect(await alertedDevices(fleet, { ruleId: byGroup.id, state: ['open'] })).toEqual([inGroup])
  })

  test('an alert that a person closes does not open again while the condition continues', async () => {
    const fleet = await newFleet(60)
    await newAlertRule(fleet, offline)
    await evaluateStored(system)
    const [alert] = await alertsOf(fleet)
    const reference = { organizationId: fleet.organizationId, alertId: alert?.id ?? '' }
    await acknowledgeAlert(fleet.ctx, reference)
    await closeAlert(fleet.ctx, reference)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([{ closeReason: 'closed_by_user', endedAt: null }])
    await report(fleet.first)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([
      { closedBy: 'key:test', closeReason: 'closed_by_user', endedAt: expect.any(String) },
    ])
    expect(await eventsOf(fleet)).toEqual(['alert.opened', 'alert.closed'])
  })

  test('a suspended organization’s alerts neither open nor close', async () => {
    const fleet = await newFleet(60, 0)
    await newAlertRule(fleet, offline)
    await evaluateStored(system)
    await pool.query("UPDATE organization SET subscription_status = 'suspended' WHERE id = $1", [fleet.organizationId])
    await report(fleet.first)
    await report(fleet.second, 60)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([{ deviceId: fleet.first, state: 'open' }])
  })

  test('a deleted device has no alerts; those of a transferred one close', async () => {
    const fleet = await newFleet(60, 60)
    const elsewhere = await newFleet()
    await newAlertRule(fleet, offline)
    await evaluateStored(system)
    await deleteDevice(fleet.ctx, { deviceId: fleet.first, ...anyRevision })
    const toOrgId = elsewhere.organizationId
    await transferDevice(fleet.ctx, { deviceId: fleet.second, toOrgId, ...anyRevision })
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([
      { deviceId: fleet.second, deviceName: null, state: 'closed', closeReason: 'out_of_scope' },
    ])
    expect(await alertsOf(elsewhere)).toEqual([])
  })

  test('disabling, changing and deleting a rule closes its alerts; a new name or severity does not', async () => {
    const fleet = await newFleet(60)
    const { ctx, organizationId } = fleet
    const { id: ruleId } = await newAlertRule(fleet, offline)
    const change = (change: Parameters<typeof updateAlertRule>[1]['change']) =>
      updateAlertRule(ctx, { organizationId, ruleId, change, ...anyRevision })
    const states = async () => (await alertsOf(fleet)).map(({ closeReason }) => closeReason)
    await evaluateStored(system)
    await change({ name: 'Renamed', severity: 'info' })
    expect(await states()).toEqual([null])
    await change({ enabled: false })
    await evaluateStored(system)
    expect(await states()).toEqual(['rule_disabled'])
    await change({ enabled: true })
    await evaluateStored(system)
    await change({ condition: { kind: 'offline', forMinutes: 45 } })
    expect(await states()).toEqual(['rule_changed', 'rule_disabled'])
    await evaluateStored(system)
    await deleteAlertRule(ctx, { organizationId, ruleId, ...anyRevision })
    await evaluateStored(system)
    expect(await states()).toEqual(['rule_deleted', 'rule_changed', 'rule_disabled'])
    expect(await eventsOf(fleet)).toHaveLength(6)
  })
})

describe('no_fix', () => {
  const noFix: AlertCondition = { kind: 'no_fix', forMinutes: 30 }

  test('opens for a device that reports without a fix, and closes with the next fix', async () => {
    const fleet = await newFleet(0, 0)
    await pool.query("UPDATE device SET created_at = now() - interval '1 day' WHERE id = ANY ($1)", [fleet.deviceIds])
    await move(fleet.first, 50, 8, 31)
    await move(fleet.second, 50, 8, 29)
    await newAlertRule(fleet, noFix)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([
      { deviceId: fleet.first, kind: 'no_fix', measured: { lastFixAt: expect.any(String) } },
    ])
    await move(fleet.first, 50, 8)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([{ state: 'closed', closeReason: 'condition_ended' }])
  })

  test('a device that was transferred has no last fix until its new owner has one', async () => {
    const [from, to] = [await newFleet(0), await newFleet()]
    await move(from.first, 50, 8)
    await transferDevice(from.ctx, { deviceId: from.first, toOrgId: to.organizationId, ...anyRevision })
    await pool.query(
      `UPDATE device SET status = 'online', created_at = now() - interval '1 day', last_fix_at = last_fix_at - interval '1 hour'
       WHERE id = $1`,
      [from.first],
    )
    await newAlertRule(to, noFix)
    await evaluateStored(system)
    expect(await alertsOf(to)).toMatchObject([{ deviceId: from.first, state: 'open', measured: { lastFixAt: null } }])
  })

  test('gives a device that was offline, or is new, the whole period to find a fix', async () => {
    const fleet = await newFleet(0, 0)
    await pool.query("UPDATE device SET created_at = now() - interval '1 day' WHERE id = $1", [fleet.first])
    await move(fleet.first, 50, 8, 600)
    const online = (minutesAgo: number) =>
      pool.query(
        `INSERT INTO audit_entry (id, organization_id, actor, action, subject_type, subject_id, detail, at)
         VALUES (uuidv7(), $1, 'system', 'device.status_changed', 'device', $2, '{"from": "offline", "to": "online"}',
           now() - make_interval(mins => $3))`,
        [fleet.organizationId, fleet.first, minutesAgo],
      )
    await online(29)
    await newAlertRule(fleet, noFix)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toEqual([])
    await online(31)
    await evaluateStored(system)
    expect(await alertedDevices(fleet)).toEqual([fleet.first])
  })
})

describe('entered_place and left_place', () => {
  async function newPlace({ organizationId }: JobFleet): Promise<string> {
    const { rows } = await pool.query<{ id: string }>(
      `INSERT INTO place (id, organization_id, name, area, ring, bounds) VALUES (uuidv7(), $1, 'Port',
         '{"type": "Polygon"}', '((8,50),(9,50),(9,51),(8,51))', '((9,51),(8,50))') RETURNING id`,
      [organizationId],
    )
    return rows[0]?.id ?? ''
  }
  const inside = [50.5, 8.5] as const
  const outside = [50.5, 9.5] as const

  test('open when a device crosses the boundary, not for where it was when the rule began', async () => {
    const fleet = await newFleet(0, 0)
    const placeId = await newPlace(fleet)
    const entered = await newAlertRule(fleet, { kind: 'entered_place', placeId, forMinutes: 0 })
    const left = await newAlertRule(fleet, { kind: 'left_place', placeId, forMinutes: 0 })
    await move(fleet.first, ...inside)
    await move(fleet.second, ...outside)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toEqual([])
    await move(fleet.first, ...outside)
    await move(fleet.second, ...inside)
    await evaluateStored(system)
    await evaluateStored(system)
    expect(await alertsOf(fleet, { ruleId: left.id })).toMatchObject([
      { deviceId: fleet.first, state: 'open', measured: { lat: 50.5, lon: 9.5, placeId, placeName: 'Port' } },
    ])
    expect(await alertsOf(fleet, { ruleId: entered.id })).toMatchObject([{ deviceId: fleet.second, state: 'open' }])
    await move(fleet.first, ...inside)
    await evaluateStored(system)
    expect(await alertsOf(fleet, { ruleId: left.id })).toMatchObject([{ state: 'closed' }])
    expect(await alertedDevices(fleet, { ruleId: entered.id, state: ['open'] })).toEqual(
      [fleet.first, fleet.second].sort(),
    )
  })

  test('wait for the period, and start over when the place changes', async () => {
    const fleet = await newFleet(0)
    const placeId = await newPlace(fleet)
    await newAlertRule(fleet, { kind: 'left_place', placeId, forMinutes: 10 })
    await move(fleet.first, ...inside, 20)
    await evaluateStored(system)
    await move(fleet.first, ...outside, 9)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toEqual([])
    await pool.query("UPDATE alert_side SET since = since - interval '2 minutes' WHERE device_id = $1", [fleet.first])
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([{ state: 'open' }])

    const area = '{"type": "Circle", "lat": 0, "lon": 0, "radiusM": 10}'
    await pool.query("UPDATE place SET area = $2, ring = null, bounds = '((0.1,0.1),(-0.1,-0.1))' WHERE id = $1", [
      placeId,
      area,
    ])
    const other = await newAlertRule(fleet, { kind: 'left_place', placeId, forMinutes: 0 })
    await evaluateStored(system)
    await evaluateStored(system)
    expect(await alertsOf(fleet, { ruleId: other.id })).toEqual([])
  })
})

describe('neighbours', () => {
  test('an organization whose alerts cannot be stored does not stop the others', async () => {
    const [broken, fleet] = [await newFleet(60), await newFleet(60)]
    for (const owner of [broken, fleet]) await newAlertRule(owner, offline)
    const repair = await failFor(pool, 'alert', broken.organizationId)
    const { rounds, failed } = recordedRounds()
    await evaluateStored(system, rounds)
    expect(await alertsOf(fleet)).toHaveLength(1)
    expect(failed).toEqual([broken.organizationId])
    await repair()
    await evaluateStored(system, rounds)
    expect(await alertsOf(broken)).toHaveLength(1)
    expect(await alertsOf(fleet)).toHaveLength(1)
  })

  test('an organization with many rules takes turns with another one, and has each alert once in the end', async () => {
    await pool.query('DELETE FROM alert_rule; DELETE FROM alert')
    const [large, fleet] = [await newFleet(60), await newFleet(60)]
    const rules = 12
    for (let count = 0; count < rules; count++) await newAlertRule(large, offline)
    await newAlertRule(fleet, offline)
    // So that each rule is a statement of its own.
    await pool.query('UPDATE organization_usage SET device_count = 200000 WHERE organization_id = $1', [
      large.organizationId,
    ])
    const { rounds } = recordedRounds({ stepMs: 1_000 })
    await evaluateStored(system, rounds)
    expect(await alertsOf(fleet)).toHaveLength(1)
    expect((await alertsOf(large)).length).toBeLessThan(rules)
    await evaluateStored(system, rounds)
    await evaluateStored(system, rounds)
    expect(await alertsOf(large)).toHaveLength(rules)
    expect(await alertsOf(fleet)).toHaveLength(1)
  })
})

describe('radio_fault', () => {
  const radioFault: AlertCondition = { kind: 'radio_fault' }

  /** Stores what a comparison found for the modems of a device. */
  async function compared({ organizationId }: JobFleet, deviceId: string, ...found: [modem: string, status: string][]) {
    await pool.query(
      `INSERT INTO radio_health_run (organization_id, finished_at, window_from, window_to)
       VALUES ($1, now(), '2026-05-01T00:00:00Z', now()) ON CONFLICT DO NOTHING`,
      [organizationId],
    )
    await pool.query('DELETE FROM device_radio_health WHERE device_id = $1', [deviceId])
    const severity = ['fault', 'suspect', 'ok', 'unknown']
    for (const [modem, status] of found)
      await pool.query(
        `INSERT INTO device_radio_health (organization_id, device_id, modem, status, severity, offset_order, offset_db,
           shared_cells, compared_devices) VALUES ($1, $2, $3, $4, $5, -6.5, -6.5, 30, 9)`,
        [organizationId, deviceId, modem, status, severity.indexOf(status)],
      )
  }

  test('opens with a fault of any modem, stays while nothing is known, and ends when the fault is gone', async () => {
    const fleet = await newFleet(0, 0)
    await newAlertRule(fleet, radioFault)
    await compared(fleet, fleet.first, ['a', 'ok'], ['b', 'fault'])
    await compared(fleet, fleet.second, ['a', 'suspect'])
    await evaluateStored(system)
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([
      {
        kind: 'radio_fault',
        deviceId: fleet.first,
        since: '2026-05-01T00:00:00.000Z',
        measured: { modem: 'b', offsetDb: -6.5 },
      },
    ])
    await compared(fleet, fleet.first, ['a', 'unknown'], ['b', 'unknown'])
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([{ state: 'open' }])
    await compared(fleet, fleet.first, ['a', 'ok'], ['b', 'suspect'])
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toMatchObject([{ state: 'closed', closeReason: 'condition_ended' }])
    expect(await eventsOf(fleet)).toEqual(['alert.opened', 'alert.closed'])
  })

  test('opens nothing for devices of other organizations and without a comparison', async () => {
    const [fleet, other] = [await newFleet(0), await newFleet(0)]
    await newAlertRule(fleet, radioFault)
    await compared(other, other.first, ['a', 'fault'])
    await evaluateStored(system)
    expect(await alertsOf(fleet)).toEqual([])
    expect(await alertsOf(other)).toEqual([])
  })
})
