import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let ingest: IngestProcess
/** Generous: a restart of the app on a busy machine takes its time. */
vi.setConfig({ testTimeout: 240_000 })
const waitMs = 100_000
const logDir = mkdtempSync(join(tmpdir(), 'writer-test-'))
const start = () => startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir })

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  ingest = await start()
})
afterAll(async () => {
  await ingest.end('SIGTERM')
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
  rmSync(logDir, { recursive: true })
})

/** Registers a device in an organization of its own. */
async function newDevice(): Promise<ReportingDevice> {
  const [device] = await newReportingDevices(pool, await newOrganization(pool), 1)
  if (!device) throw new Error('No device was made.')
  return device
}

async function report(device: ReportingDevice, samples: readonly object[]): Promise<void> {
  const answer = await fetch(`${ingest.url}/telemetry`, {
    method: 'POST',
    headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ samples }),
  })
  expect(await answer.json()).toMatchObject({ accepted: samples.length, rejected: [] })
}

type Aligned = {
  ts: number
  alignment: string
  aligned_lat: number | null
  align_error_m: number | null
  received_at: number
}

const alignedRows = (device: ReportingDevice) =>
  questdb.query<Aligned>(
    'SELECT ts, alignment, aligned_lat, align_error_m, received_at FROM cellular WHERE device_id = $1 ORDER BY ts',
    [device.id],
  )

async function figure(name: string): Promise<number> {
  const text = await (await fetch(`${ingest.url}/metrics`)).text()
  return Number(new RegExp(`^telemetry_${name}(?:{[^}]*})? (\\d+)$`, 'm').exec(text)?.[1])
}

const secondMs = 1_000
/** A drive north at 10 m/s: RF every second, a new fix every 10 s. */
function drive(fromMs: number, seconds: number): object[] {
  return Array.from({ length: seconds }, (_, second) => {
    const ts = fromMs + second * secondMs
    const lat = 50 + Math.floor(second / 10) * 0.0009
    return [
      { kind: 'cellular', ts, rat: 'lte', rsrpDbm: -90 },
      ...(second % 10 === 0 ? [{ kind: 'location', ts, lat, lon: 8, accuracyM: 5, speedMps: 10 }] : []),
    ]
  }).flat()
}

const eventually: typeof until = (what, condition) => until(what, condition, waitMs)

// The writer settles rows and dwells after a while. These tests wait for it side by side.

test.concurrent('RF rows are written at once and placed again when the next fix arrives', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 60_000
  const samples = drive(startMs, 41)
  await report(device, samples.slice(0, 6))
  const held = await eventually('the first rows', async () => {
    const rows = await alignedRows(device)
    return rows.length === 5 ? rows : undefined
  })
  expect(held.map(({ alignment }) => alignment)).toEqual(['exact', 'exact', 'exact', 'held', 'held'])
  await report(device, samples.slice(6))
  const rows = await eventually('all rows, interpolated', async () => {
    const found = await alignedRows(device)
    return found.length === 41 && found[4]?.alignment === 'interpolated' ? found : undefined
  })
  expect(rows[5]?.aligned_lat).toBeCloseTo(50.00045, 7)
  expect(rows[0]?.received_at).toBeLessThan(rows[40]?.received_at ?? 0)
  expect(rows[4]?.received_at).toBe(rows[0]?.received_at)
})

test.concurrent('of two fixes of one millisecond the later one places the rows, as it is the one that is stored', async () => {
  const device = await newDevice()
  const samples = drive(Date.now() - 60_000, 41).flatMap((sample) =>
    'lat' in sample ? [{ ...sample, lat: 50.5 }, sample] : [sample],
  )
  await report(device, samples)
  await eventually('rows on the way of the later fixes', async () => {
    const rows = await alignedRows(device)
    return rows.length === 41 && rows.every((row) => (row.aligned_lat ?? 0) < 50.004)
  })
})

test.concurrent('late fixes bring earlier rows to where they belong, whatever the order of arrival', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 3 * 60_000
  const samples = drive(startMs, 121)
  const parts = [samples.slice(0, 33), samples.slice(33, 66), samples.slice(66, 99), samples.slice(99)]
  for (const index of [3, 1, 0, 2]) await report(device, parts[index] ?? [])
  await eventually('every row is placed as if all had come in order', async () => {
    const rows = await alignedRows(device)
    return (
      rows.length === 121 &&
      rows.every(({ ts, alignment, aligned_lat }) => {
        const second = (ts - startMs) / secondMs
        const place = second % 10 === 0 ? 'exact' : 'interpolated'
        return alignment === place && Math.abs((aligned_lat ?? 0) - (50 + second * 0.00009)) < 1e-6
      })
    )
  })
})

test.concurrent('an open stay that was reported bit by bit ends as if all had come at once', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 20 * 60_000
  const fixes = Array.from({ length: 30 }, (_, index) => ({
    kind: 'location',
    ts: startMs + index * 20_000,
    lat: 50 + (index % 3) * 0.0002,
    lon: 8,
    accuracyM: 5,
  }))
  for (const fix of fixes) await report(device, [fix, { kind: 'cellular', ts: fix.ts, rat: 'lte', rsrpDbm: -90 }])
  await eventually('all rows stand at the centre of all its fixes', async () => {
    const rows = await alignedRows(device)
    return rows.length === 30 && rows.every(({ aligned_lat }) => Math.abs((aligned_lat ?? 0) - 50.0002) < 1e-9)
  })
  await eventually('the stay counts them all', async () => {
    const [dwell] = await questdb.query<{ fix_count: string }>('SELECT fix_count FROM dwell WHERE device_id = $1', [
      device.id,
    ])
    return dwell?.fix_count === '30'
  })
})

test.concurrent('a stay of weeks goes on as one though the writer has forgotten the device', async () => {
  const device = await newDevice()
  const weeksMs = 16 * 86_400_000
  const arrivedAtMs = Date.now() - weeksMs
  const stepMs = 20 * 60_000
  const at = (step: number) => ({ tsMs: arrivedAtMs + step * stepMs, deviceId: device.id, ...owner })
  const owner = { organizationId: device.organizationId }
  const steps = Math.floor(weeksMs / stepMs)
  const fixes = Array.from({ length: steps }, (_, step) => ({ ...at(step), lat: 50, lon: 8, usable: true }))
  await storeRows(questdb, 'location', fixes)
  const lastInsideAtMs = at(steps - 1).tsMs
  const place = { lat: 50, lon: 8, radiusM: 0, fixCount: 1, gap: true }
  await storeRows(questdb, 'dwell', [{ ...at(0), ...place, id: 'stay', lastInsideAtMs, departedAtMs: null }])
  const nowMs = Date.now()
  await report(device, [
    { kind: 'location', ts: nowMs - 60_000, lat: 50, lon: 8 },
    { kind: 'location', ts: nowMs, lat: 51, lon: 8 },
  ])
  await eventually('it is one stay that has ended', async () => {
    const stays = await questdb.query<{ ts: number; departed_at: number | null }>(
      'SELECT ts, departed_at FROM dwell WHERE device_id = $1 AND NOT withdrawn',
      [device.id],
    )
    return stays.length === 1 && stays[0]?.ts === arrivedAtMs && stays[0].departed_at === nowMs - 60_000
  })
})

test.concurrent('a router that was switched off when it arrived stood there all night', async () => {
  const device = await newDevice()
  const nowMs = Date.now()
  const hoursAgo = (hours: number) => nowMs - hours * 3_600_000
  const known = { deviceId: device.id, organizationId: device.organizationId, lon: 8, usable: true }
  await storeRows(questdb, 'location', [
    { ...known, tsMs: hoursAgo(14.1), lat: 51 },
    { ...known, tsMs: hoursAgo(14), lat: 50 },
  ])
  await report(device, [{ kind: 'location', ts: nowMs, lat: 50, lon: 8 }])
  await eventually('the night is its stay', async () => {
    const [stay, ...others] = await questdb.query<{ ts: number; last_inside_at: number; gap: boolean }>(
      'SELECT ts, last_inside_at, gap FROM dwell WHERE device_id = $1 AND NOT withdrawn',
      [device.id],
    )
    return others.length === 0 && stay?.ts === hoursAgo(14) && stay.last_inside_at === nowMs && stay.gap
  })
})

test.concurrent('a late fix splits the stay of a device that reports nothing but its position', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 40 * 60_000
  const fix = (minute: number, lat: number) => ({ kind: 'location', ts: startMs + minute * 60_000, lat, lon: 8 })
  const arrivals = async () => {
    const rows = await questdb.query<{ ts: number; org_id: string }>(
      'SELECT ts, org_id FROM dwell WHERE device_id = $1 AND NOT withdrawn ORDER BY ts',
      [device.id],
    )
    return rows.map(({ ts, org_id }) => [(ts - startMs) / 60_000, org_id])
  }
  const eventuallyArrivals = (what: string, minutes: number[]) =>
    eventually(what, async () => {
      const expected = minutes.map((minute) => [minute, device.organizationId])
      return JSON.stringify(await arrivals()) === JSON.stringify(expected)
    })
  const standing = Array.from({ length: 21 }, (_, minute) => fix(minute, 50))
  await report(device, [...standing, fix(22, 51)])
  await eventuallyArrivals('there is one stay', [0])
  await report(device, [fix(10.5, 51)])
  await eventuallyArrivals('there are two', [0, 11])
})

// These restart the writer, one after the other.

test('a stay becomes a dwell whose rows carry its centre, over a restart of the writer', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 20 * 60_000
  const fix = (minute: number, lat: number) => ({
    kind: 'location',
    ts: startMs + minute * 60_000,
    lat,
    lon: 8,
    accuracyM: 5,
  })
  const radio = (minute: number) => ({
    kind: 'cellular',
    ts: startMs + minute * 60_000 + 30_000,
    rat: 'lte',
    rsrpDbm: -90,
  })
  await report(device, [fix(0, 50), radio(0), fix(3, 50.0002), radio(3), fix(6, 50), radio(6)])
  await eventually('it is stored', async () => (await alignedRows(device)).length === 3)
  await ingest.end('SIGKILL')
  ingest = await start()
  await report(device, [fix(9, 50.0002), radio(9), fix(12, 50.02), radio(12)])
  const dwell = await eventually('the dwell has ended', async () => {
    const rows = await questdb.query<{ ts: number; departed_at: number | null; fix_count: string; radius_m: number }>(
      'SELECT ts, departed_at, fix_count, radius_m FROM dwell WHERE device_id = $1 AND NOT withdrawn',
      [device.id],
    )
    expect(rows.length).toBeLessThanOrEqual(1)
    return rows[0]?.departed_at ? rows[0] : undefined
  })
  expect(dwell).toMatchObject({ ts: startMs, departed_at: startMs + 9 * 60_000, fix_count: '4' })
  await eventually('its rows stand at its centre', async () => {
    const rows = await alignedRows(device)
    return rows
      .slice(0, 3)
      .every(({ alignment, aligned_lat }) => alignment === 'dwell' && Math.abs((aligned_lat ?? 0) - 50.0001) < 1e-7)
  })
})

test('a stay is announced when it is sure and when it is over, once each, over a restart of the writer', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 20 * 60_000
  const fix = (minute: number, lat = 50) => ({ kind: 'location', ts: startMs + minute * 60_000, lat, lon: 8 })
  const announced = async () => {
    const { rows } = await pool.query<{ type: string; payload: { arrivedAt: string; departedAt?: string } }>(
      'SELECT type, payload FROM outbox_event WHERE organization_id = $1 ORDER BY id',
      [device.organizationId],
    )
    return rows.filter(({ type }) => type.startsWith('dwell.'))
  }
  await report(device, [fix(0), fix(3), fix(6)])
  await eventually('its start is announced', async () => (await announced()).length === 1)
  await ingest.end('SIGKILL')
  ingest = await start()
  await report(device, [fix(8), fix(9), fix(12, 50.02), fix(13, 50.04)])
  await eventually('its end is announced', async () => (await announced()).length > 1)
  const story = await announced()
  const place = { deviceId: device.id, dwellId: expect.any(String), lat: 50, lon: 8, radiusM: 0 }
  const arrivedAt = new Date(startMs).toISOString()
  expect(story).toEqual([
    { type: 'dwell.started', payload: { ...place, arrivedAt } },
    { type: 'dwell.ended', payload: { ...place, arrivedAt, departedAt: new Date(startMs + 9 * 60_000).toISOString() } },
  ])
})

test('what is older than memory and sent again is still known to be a repetition', async () => {
  const device = await newDevice()
  const samples = Array.from({ length: 100 }, (_, index) => ({
    kind: 'system',
    ts: Date.now() - 7_200_000 + index,
    cpuPct: 1,
  }))
  const replacedBefore = await figure('samples_replaced_total')
  await report(device, samples)
  const count = () => questdb.query('SELECT ts FROM system WHERE device_id = $1', [device.id])
  await eventually('it is stored', async () => (await count()).length === 100)
  await ingest.end('SIGKILL')
  ingest = await start()
  await report(device, [...samples.slice(0, 50), { kind: 'system', ts: Date.now() - 7_100_000, cpuPct: 2 }])
  await eventually('the new one is stored', async () => (await count()).length === 101)
  await eventually('nothing waits', async () => (await figure('backlog_samples')) === 0)
  expect((await figure('samples_replaced_total')) - replacedBefore).toBe(50)
})

test('a row without service has the operator that its modem lost, in any order of arrival', async () => {
  const startMs = Date.now() - 120_000
  /** The first modem is without service from second 20, the second one from 30, and its SIM is another from 35 to 44. */
  const isOtherSim = (second: number) => second >= 35 && second < 45
  const samples = drive(startMs, 61).flatMap((sample) => {
    if (!('rat' in sample && 'ts' in sample)) return [sample]
    const [kind, ts] = ['cellular', Number(sample.ts)]
    const second = (ts - startMs) / secondMs
    const served = (plmn: string, untilSecond: number) =>
      second < untilSecond ? { rat: 'lte', plmn, rsrpDbm: -90 } : { rat: 'none' }
    return [
      { kind, ts, modem: 'wwan0', ...served('26201', 20) },
      { kind, ts, modem: 'wwan1', ...served('26202', 30), ...(second === 60 ? { simPlmn: '26203' } : {}) },
      {
        kind: 'connection',
        ts,
        modem: 'wwan1',
        iccid: isOtherSim(second) ? '8949000000000000002' : '8949000000000000001',
      },
    ]
  })
  const part = (from: number, to: number) =>
    samples.filter(
      (sample) =>
        'ts' in sample && Number(sample.ts) >= startMs + from * secondMs && Number(sample.ts) < startMs + to * secondMs,
    )
  const orders = [
    [part(0, 61)],
    [part(0, 25), part(25, 50), part(50, 61)],
    [part(0, 10), part(50, 61), part(10, 25), part(25, 50)],
    [part(0, 25), part(45, 50), part(25, 45), part(50, 61)],
    [part(50, 61), part(40, 50), part(0, 40)],
  ]
  const expected = Array.from({ length: 61 }, (_, second) => [
    `${second} wwan0 ${second < 20 ? null : '26201'}`,
    `${second} wwan1 ${second === 60 ? '26203' : second < 30 || isOtherSim(second) ? null : '26202'}`,
  ]).flat()
  await Promise.all(
    orders.map(async (order, index) => {
      const device = await newDevice()
      for (const some of order) await report(device, some)
      await eventually(`the operators of order ${index}`, async () => {
        const rows = await questdb.query<{ ts: number; modem: string; lost_plmn: string | null }>(
          'SELECT ts, modem, lost_plmn FROM cellular WHERE device_id = $1 ORDER BY ts, modem',
          [device.id],
        )
        const found = rows.map(({ ts, modem, lost_plmn }) => `${(ts - startMs) / secondMs} ${modem} ${lost_plmn}`)
        return JSON.stringify(found) === JSON.stringify(expected)
      })
    }),
  )
})

test('two modems at the same times are two rows each, and both are placed as one alone would be', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 60_000
  const samples = drive(startMs, 41).flatMap((sample) =>
    'rat' in sample
      ? [
          { ...sample, modem: 'wwan0', plmn: '26201' },
          { ...sample, modem: 'wwan1', plmn: '26202' },
          { kind: 'connection', ts: 'ts' in sample && sample.ts, modem: 'wwan0', interface: 'a' },
          { kind: 'connection', ts: 'ts' in sample && sample.ts, modem: 'wwan0', interface: 'b' },
        ]
      : [sample],
  )
  const [stored, replaced] = [await figure('samples_stored_total'), await figure('samples_replaced_total')]
  for (const part of [samples.slice(90), samples.slice(0, 40), samples.slice(40, 90), samples.slice(30, 40)])
    await report(device, part)
  const placesOf = async (modem: string) => {
    const rows = await questdb.query<Aligned>(
      `SELECT ts, alignment, aligned_lat FROM cellular WHERE device_id = $1 AND modem = $2 ORDER BY ts`,
      [device.id, modem],
    )
    return rows.map(({ ts, alignment, aligned_lat }) => `${ts - startMs} ${alignment} ${aligned_lat?.toFixed(5)}`)
  }
  const expected = Array.from({ length: 41 }, (_, second) => {
    const place = second % 10 === 0 ? 'exact' : 'interpolated'
    return `${second * secondMs} ${place} ${(50 + second * 0.00009).toFixed(5)}`
  })
  await eventually('the rows of both modems', async () => {
    const places = JSON.stringify([await placesOf('wwan0'), await placesOf('wwan1')])
    return places === JSON.stringify([expected, expected])
  })
  await eventually('nothing waits', async () => (await figure('backlog_samples')) === 0)
  expect((await figure('samples_stored_total')) - stored).toBe(samples.length)
  expect((await figure('samples_replaced_total')) - replaced).toBe(10)
  const uplinks = await questdb.query('SELECT ts FROM connection WHERE device_id = $1', [device.id])
  expect(uplinks).toHaveLength(82)
})
