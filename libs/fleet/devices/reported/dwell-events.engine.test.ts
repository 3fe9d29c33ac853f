import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadPlans, type Plans } from '#fleet/organizations/plans'
import { type OwnedPool, openPool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { newOrganization, newReportingDevices } from '#test/reporting-device'
import { type AnnouncedDwell, announceDwell, publishDwells, type ReportedDwell } from './dwell-events.ts'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 0, 2)

/** A dwell between two times in minutes. `to` is null while it is open. */
function dwell(
  from: number,
  to: number | null,
  { lat = 50, seen = to ?? from + 5, withdrawn = false } = {},
): ReportedDwell {
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

/** The events for dwells that are written in this order: type, arrival and departure in minutes. */
function story(written: readonly ReportedDwell[]): string[] {
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
  test.each<[string, ReportedDwell[], string[]]>([
    [
      'a dwell starts once while it grows, and ends once',
      [dwell(0, null), dwell(0, null), dwell(0, 9), dwell(0, 9)],
      ['started 0', 'ended 0 9'],
    ],
    ['a dwell that is known only after its end publishes both events', [dwell(0, 9)], ['started 0', 'ended 0 9']],
    [
      'the next dwell starts after the end of the last one',
      [dwell(0, 9), dwell(20, null, { lat: 51 })],
      ['started 0', 'ended 0 9', 'started 20'],
    ],
    [
      'a dwell that is written again after a crash causes no event',
      [dwell(0, 9), dwell(20, 30), dwell(0, null), dwell(0, 9), dwell(20, 30)],
      ['started 0', 'ended 0 9', 'started 20', 'ended 20 30'],
    ],
    [
      'a dwell detected after a later one was published causes no event',
      [dwell(50, 60), dwell(0, 9)],
      ['started 50', 'ended 50 60'],
    ],
    [
      'a withdrawn dwell ends without a departure',
      [dwell(0, null), dwell(0, null, { withdrawn: true }), dwell(0, null, { withdrawn: true })],
      ['started 0', 'ended 0 ?'],
    ],
    [
      'a dwell that began earlier is started again',
      [dwell(5, null), dwell(5, null, { withdrawn: true }), dwell(0, null, { seen: 12 }), dwell(0, 20)],
      ['started 5', 'ended 5 ?', 'started 0', 'ended 0 20'],
    ],
    [
      'a dwell whose arrival was lost ends with its published arrival',
      [dwell(0, null), dwell(90, null), dwell(90, 99)],
      ['started 0', 'ended 0 99'],
    ],
    [
      'a dwell that is restored partly, then completely, and then ends is one dwell',
      [dwell(0, null), dwell(90, null), dwell(90, null, { withdrawn: true }), dwell(0, null), dwell(0, 99)],
      ['started 0', 'ended 0 99'],
    ],
    [
      'a dwell whose end was lost ends before the next one starts',
      [dwell(0, null), dwell(90, null, { lat: 51 })],
      ['started 0', 'ended 0 ?', 'started 90'],
    ],
  ])('%s', (_, written, expected) => expect(story(written)).toEqual(expected))

  test('is not confused by the antimeridian', () => {
    const east = { ...dwell(0, null), lon: 179.9999 }
    const west = { ...dwell(90, 99), lon: -179.9999 }
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

  test('publishes both events with place and times once, also when two processes write the same dwell', async () => {
    const device = await newDevice()
    const written = [
      { ...dwell(0, null), ...device },
      { ...dwell(0, 9), ...device },
    ]
    await Promise.all([publishDwells({ pool, plans }, written), publishDwells({ pool, plans }, written)])
    const place = { deviceId: device.deviceId, dwellId: 'dwell-0', lat: 50, lon: 8, radiusM: 20 }
    expect(await published(device.organizationId)).toEqual([
      { type: 'dwell.started', payload: { ...place, arrivedAt: '2026-01-02T00:00:00.000Z' } },
      {
        type: 'dwell.ended',
        payload: { ...place, arrivedAt: '2026-01-02T00:00:00.000Z', departedAt: '2026-01-02T00:09:00.000Z' },
      },
    ])
  })

  test('publishes no dwell that began under a former owner or belongs to a deleted device', async () => {
    const device = await newDevice()
    const former = await newOrganization(pool)
    const gone = await newDevice()
    await pool.query('DELETE FROM device_ownership WHERE device_id = $1', [gone.deviceId])
    await pool.query('DELETE FROM device WHERE id = $1', [gone.deviceId])
    await publishDwells({ pool, plans }, [
      { ...dwell(0, 9), deviceId: device.deviceId, organizationId: former },
      { ...dwell(0, 9), ...gone },
      { ...dwell(20, null), ...device },
    ])
    expect(await published(former)).toEqual([])
    expect(await published(gone.organizationId)).toEqual([])
    expect(await types(device.organizationId)).toEqual(['dwell.started'])
  })

  test('publishes nothing on a plan without fleet GPS, also not after an upgrade', async () => {
    const device = await newDevice()
    await pool.query("UPDATE organization SET plan = 'free' WHERE id = $1", [device.organizationId])
    await publishDwells({ pool, plans }, [{ ...dwell(0, null), ...device }])
    await pool.query("UPDATE organization SET plan = 'pro' WHERE id = $1", [device.organizationId])
    await publishDwells({ pool, plans }, [{ ...dwell(0, null, { seen: 7 }), ...device }])
    expect(await published(device.organizationId)).toEqual([])
    await publishDwells({ pool, plans }, [{ ...dwell(20, null, { lat: 51 }), ...device }])
    expect((await types(device.organizationId)).at(-1)).toBe('dwell.started')
  })
})
