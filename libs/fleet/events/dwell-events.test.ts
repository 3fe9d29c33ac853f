import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnnouncedDwell, announceDwell, publishDwells, type WrittenDwell } from '#fleet/events/dwell-events'
import { loadPlans, type Plans } from '#fleet/organizations/plans'
import { type OwnedPool, openPool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { newOrganization, newReportingDevices } from '#test/reporting-device'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 0, 2)

/** A stay by minutes: from its arrival to its end, open when that is null, at a latitude. */
function stay(
  from: number,
  to: number | null,
  { lat = 50, seen = to ?? from + 5, withdrawn = false } = {},
): WrittenDwell {
  return {
    dwellId: `dwell-${from}`,
    deviceId: 'd',
    organizationId: 'o',
    arrivedAtMs: startMs + from * minuteMs,
    departedAtMs: to === null ? null : startMs + to * minuteMs,
    lastInsideAtMs: startMs + seen * minuteMs,
    lat,
    lon: 8,
    radiusM: 20,
    withdrawn,
  }
}

/** What subscribers hear of stays that are written one after the other: type, arrival, departure in minutes. */
function story(written: readonly WrittenDwell[]): string[] {
  let last: AnnouncedDwell | null = null
  const minute = (ms: number | null) => (ms === null ? '?' : (ms - startMs) / minuteMs)
  return written.flatMap((dwell) => {
    const step = announceDwell(last, dwell)
    last = step.last
    return step.announcements.map((one) =>
      one.type === 'dwell.started'
        ? `started ${minute(one.dwell.arrivedAtMs)}`
        : `ended ${minute(one.dwell.arrivedAtMs)} ${minute(one.departedAtMs)}`,
    )
  })
}

describe('announceDwell', () => {
  test.each<[string, WrittenDwell[], string[]]>([
    [
      'a stay starts once while it grows, and ends once',
      [stay(0, null), stay(0, null), stay(0, 9), stay(0, 9)],
      ['started 0', 'ended 0 9'],
    ],
    ['one that is known only when it is over is told whole', [stay(0, 9)], ['started 0', 'ended 0 9']],
    ['the next one follows', [stay(0, 9), stay(20, null, { lat: 51 })], ['started 0', 'ended 0 9', 'started 20']],
    [
      'what is processed again after a crash is silence',
      [stay(0, 9), stay(20, 30), stay(0, null), stay(0, 9), stay(20, 30)],
      ['started 0', 'ended 0 9', 'started 20', 'ended 20 30'],
    ],
    ['what comes to light behind a later one is silence', [stay(50, 60), stay(0, 9)], ['started 50', 'ended 50 60']],
    [
      'one that was none ends without a departure',
      [stay(0, null), stay(0, null, { withdrawn: true }), stay(0, null, { withdrawn: true })],
      ['started 0', 'ended 0 ?'],
    ],
    [
      'one that began earlier than was thought starts anew',
      [stay(5, null), stay(5, null, { withdrawn: true }), stay(0, null, { seen: 12 }), stay(0, 20)],
      ['started 5', 'ended 5 ?', 'started 0', 'ended 0 20'],
    ],
    [
      'one whose beginning was forgotten ends as it began',
      [stay(0, null), stay(90, null), stay(90, 99)],
      ['started 0', 'ended 0 99'],
    ],
    [
      'one that is recovered short, found whole again and then ends is one',
      [stay(0, null), stay(90, null), stay(90, null, { withdrawn: true }), stay(0, null), stay(0, 99)],
      ['started 0', 'ended 0 99'],
    ],
    [
      'one whose end was lost ends before the next starts',
      [stay(0, null), stay(90, null, { lat: 51 })],
      ['started 0', 'ended 0 ?', 'started 90'],
    ],
  ])('%s', (_, written, expected) => expect(story(written)).toEqual(expected))

  test('is not confused by the antimeridian', () => {
    const east = { ...stay(0, null), lon: 179.9999 }
    const west = { ...stay(90, 99), lon: -179.9999 }
    expect(story([east, west])).toEqual(['started 0', 'ended 0 99'])
  })
})

describe('publishDwells', () => {
  let database: TestDatabase
  let pool: OwnedPool
  let plans: Plans
  beforeAll(async () => {
    database = await createTestDatabase()
    pool = openPool(database.url, { applicationName: 'dwell-events.test' })
    plans = await loadPlans()
  })
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  async function newDevice(): Promise<{ deviceId: string; organizationId: string }> {
    const organizationId = await newOrganization(pool)
    const [device] = await newReportingDevices(pool, organizationId, 1)
    if (!device) throw new Error('No device was registered.')
    return { deviceId: device.id, organizationId }
  }
  const published = async (organizationId: string) => {
    const { rows } = await pool.query<{ type: string; payload: unknown }>(
      'SELECT type, payload FROM outbox_event WHERE organization_id = $1 ORDER BY id',
      [organizationId],
    )
    return rows
  }
  const types = async (organizationId: string) => (await published(organizationId)).map(({ type }) => type)

  test('publishes both with place and times, once, also when two processes write the same', async () => {
    const device = await newDevice()
    const written = [
      { ...stay(0, null), ...device },
      { ...stay(0, 9), ...device },
    ]
    await Promise.all([publishDwells(pool, plans, written), publishDwells(pool, plans, written)])
    const place = { deviceId: device.deviceId, dwellId: 'dwell-0', lat: 50, lon: 8, radiusM: 20 }
    expect(await published(device.organizationId)).toEqual([
      { type: 'dwell.started', payload: { ...place, arrivedAt: '2026-01-02T00:00:00.000Z' } },
      {
        type: 'dwell.ended',
        payload: { ...place, arrivedAt: '2026-01-02T00:00:00.000Z', departedAt: '2026-01-02T00:09:00.000Z' },
      },
    ])
  })

  test('tells nobody of a stay that began with a former owner, or of a device that is gone', async () => {
    const device = await newDevice()
    const former = await newOrganization(pool)
    const gone = await newDevice()
    await pool.query('DELETE FROM device_ownership WHERE device_id = $1', [gone.deviceId])
    await pool.query('DELETE FROM device WHERE id = $1', [gone.deviceId])
    await publishDwells(pool, plans, [
      { ...stay(0, 9), deviceId: device.deviceId, organizationId: former },
      { ...stay(0, 9), ...gone },
      { ...stay(20, null), ...device },
    ])
    expect(await published(former)).toEqual([])
    expect(await published(gone.organizationId)).toEqual([])
    expect(await types(device.organizationId)).toEqual(['dwell.started'])
  })

  test('is silent on a plan that shows no stays, and does not make up for it after an upgrade', async () => {
    const device = await newDevice()
    await pool.query("UPDATE organization SET plan = 'free' WHERE id = $1", [device.organizationId])
    await publishDwells(pool, plans, [{ ...stay(0, null), ...device }])
    await pool.query("UPDATE organization SET plan = 'pro' WHERE id = $1", [device.organizationId])
    await publishDwells(pool, plans, [{ ...stay(0, null, { seen: 7 }), ...device }])
    expect(await published(device.organizationId)).toEqual([])
    await publishDwells(pool, plans, [{ ...stay(20, null, { lat: 51 }), ...device }])
    expect((await types(device.organizationId)).at(-1)).toBe('dwell.started')
  })
})
