import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { Secret } from '#core/secret'
import { openIlpTransport } from '#questdb/server/ilp-transport'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { align } from '#telemetry/position/align'
import { alignReport } from '#telemetry/position/align-report'
import { copyAlignment, createDeviceAlignment, type DeviceAlignment } from '#telemetry/position/device-alignment'
import type { FixReport } from '#telemetry/position/distinct-fixes'
import { dwellPolicies } from '#telemetry/position/dwell'
import { openDwell, undecidedSinceMs } from '#telemetry/position/dwell-detector'
import { fixCount, fixOf } from '#telemetry/position/fix-list'
import { createRowEncoder } from '#telemetry/rows/ilp'
import { radioRow } from '#telemetry/rows/radio-row'
import { type TableName, tables } from '#telemetry/rows/tables'
import { advanceTrack, createDeviceTrack } from '#telemetry-writer/tracks/device-track'
import { questdbConnection } from '#test/questdb'
import { applied, type StoredRow, storeRows } from '#test/telemetry-rows'
import { cellularRow } from '#test/tracks'
import { recoverTracks } from './recover-tracks.ts'

const minuteMs = 60_000
const onFailure = (_deviceId: string, error: unknown) => {
  throw error
}

const openDwellOf = (alignment: DeviceAlignment | undefined) => alignment && openDwell(alignment.dwell, alignment.fixes)

/** What an alignment knows, without the memory that it has for more. */
const factsOf = (alignment: DeviceAlignment | undefined) =>
  alignment && {
    ...alignment,
    fixes: Array.from({ length: fixCount(alignment.fixes) }, (_, fix) => fixOf(alignment.fixes, fix)),
    dwell: openDwellOf(alignment),
    undecidedMs: undecidedSinceMs(alignment.dwell, alignment.fixes),
  }

let questdb: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(() => questdb.end())

test('recovers an open dwell from its arrival, without reports received later', async () => {
  const [deviceId, organizationId] = [newId(), newId()]
  const arrivedAtMs = Date.now() - 4 * 60 * minuteMs
  const at = (minute: number) => ({ tsMs: arrivedAtMs + minute * minuteMs, deviceId, organizationId })
  const fixes = Array.from({ length: 121 }, (_, minute) => ({ ...at(minute), lat: 50, lon: 8, usable: true }))
  await storeRows(questdb, 'location', fixes)
  const stay = { id: newId(), departedAtMs: null, lat: 50, lon: 8, radiusM: 0, fixCount: 1, gap: false }
  const lastInsideAtMs = at(120).tsMs
  await storeRows(questdb, 'dwell', [{ ...at(0), ...stay, lastInsideAtMs, receivedAtMs: lastInsideAtMs }])
  const track = createDeviceTrack('vehicle')
  await recoverTracks(questdb, new Map([[deviceId, track]]), { receivedBeforeMs: at(105).tsMs, onFailure })
  expect(openDwellOf(track.alignment)).toMatchObject({ arrivedAtMs, lastInsideAtMs: at(104).tsMs })
  expect(track.past).toBeUndefined()
})

test('recovers a long dwell from its row and the recent fixes, without reading the others', async () => {
  const [deviceId, organizationId] = [newId(), newId()]
  const nowMs = Date.now()
  const arrivedAtMs = nowMs - 20 * 60 * minuteMs
  // It drifts around the first fix.
  const reports = Array.from({ length: 20 * 60 }, (_, minute): FixReport => {
    const [northM, eastM] = [((minute * 37) % 41) - 20, ((minute * 53) % 31) - 15]
    const position = { lat: 50 + northM / 111_195, lon: 8 + eastM / 71_474 }
    const tsMs = arrivedAtMs + minute * minuteMs
    return { tsMs, ...position, fixTs: null, accuracyM: 5 + (minute % 7), speedMps: null, headingDeg: null }
  })
  const uninterrupted = createDeviceTrack('vehicle')
  const dwells: StoredRow[] = []
  for (const report of reports) {
    const origin = { deviceId, organizationId, receivedAtMs: report.tsMs + 1_000 }
    for (const { row } of advanceTrack(uninterrupted, origin, [report], []).dwells) dwells.push({ ...origin, ...row })
  }
  const stored = reports.map((report) => ({ deviceId, organizationId, receivedAtMs: report.tsMs + 1_000, ...report }))
  // Only what is read is stored.
  const recent = stored.filter(({ tsMs }) => tsMs > nowMs - 25 * minuteMs)
  await storeRows(
    questdb,
    'location',
    recent.map((fix) => ({ ...fix, usable: true })),
  )
  await storeRows(questdb, 'dwell', dwells.slice(-1))
  const track = createDeviceTrack('vehicle')
  await recoverTracks(questdb, new Map([[deviceId, track]]), { receivedBeforeMs: nowMs, onFailure })
  const [recovered, original] = [track, uninterrupted].map(({ alignment }) => openDwellOf(alignment))
  const { lat = 0, lon = 0, radiusM = 0, ...exact } = original ?? {}
  expect(recovered).toMatchObject(exact)
  expect(recovered?.lat).toBeCloseTo(lat, 9)
  expect(recovered?.lon).toBeCloseTo(lon, 9)
  expect(Math.abs((recovered?.radiusM ?? 0) - radiusM)).toBeLessThan(1)
  // All rows of the dwell are aligned again when it ends.
  expect(track.alignment.openDwellRows).toBe('stale')
})

test('reads the fixes of a dwell whose row includes reports that are processed again', async () => {
  const [deviceId, organizationId] = [newId(), newId()]
  const arrivedAtMs = Date.now() - 60 * minuteMs
  const at = (minute: number) => ({ tsMs: arrivedAtMs + minute * minuteMs, deviceId, organizationId })
  const fixes = Array.from({ length: 60 }, (_, minute) => ({ ...at(minute), lat: 50, lon: 8, usable: true }))
  await storeRows(questdb, 'location', fixes)
  const stay = { id: newId(), departedAtMs: null, lat: 50, lon: 8, radiusM: 0, fixCount: 1, gap: false }
  const anchor = { anchorLat: 50, anchorLon: 8, accuracyM: 5 }
  // It was written again with the time of its first report, as after late data.
  await storeRows(questdb, 'dwell', [
    { ...at(0), ...stay, ...anchor, lastInsideAtMs: at(58).tsMs, receivedAtMs: at(1).tsMs },
  ])
  const track = createDeviceTrack('vehicle')
  await recoverTracks(questdb, new Map([[deviceId, track]]), { receivedBeforeMs: at(55).tsMs, onFailure })
  expect(openDwellOf(track.alignment)).toMatchObject({ arrivedAtMs, lastInsideAtMs: at(54).tsMs })
})

test('a recovered track places a late row like the original track, or marks it for realignment', async () => {
  const deviceId = newId()
  const nowMs = Date.now()
  // It turns at every fix, and every fifth time it jumps.
  const reports = Array.from({ length: 180 }, (_, fix): FixReport => {
    const [northM, eastM] = [Math.ceil(fix / 2) * 100 + Math.floor(fix / 5) * 250, Math.floor(fix / 2) * 100]
    const position = { lat: 50 + northM / 111_195, lon: 8 + eastM / 71_474 }
    const tsMs = nowMs - 30 * minuteMs + fix * 10_000
    return { tsMs, ...position, fixTs: null, accuracyM: 10, speedMps: 10, headingDeg: null }
  })
  const stored = reports.map((fix) => ({ ...fix, usable: true }))
  await sendRows('location', deviceId, stored, nowMs - minuteMs)
  const track = createDeviceTrack('vehicle')
  await recoverTracks(questdb, new Map([[deviceId, track]]), { receivedBeforeMs: nowMs, onFailure })
  let placed = 0
  for (const { tsMs } of reports.slice(0, -1)) {
    const late = radioRow(cellularRow(tsMs + 5_000), 'owner', nowMs)
    const copy = createDeviceAlignment()
    copyAlignment(track.alignment, copy, [...track.alignment.trailing])
    const { rows, dirty } = alignReport(copy, dwellPolicies.vehicle, [], [late])
    if (dirty.length > 0) continue
    expect(rows).toEqual(align(reports, [late], dwellPolicies.vehicle).rows)
    placed++
  }
  expect(placed).toBeGreaterThan(100)
})

test('recovered tracks keep the RF rows that tracks without a restart keep', { timeout: 60_000 }, async () => {
  const nowMs = Date.now()
  const startMs = nowMs - 15 * minuteMs
  const [moving, standing, slow] = [newId(), newId(), newId()]
  // Metres per minute. The dwell of the second device begins in its first minute.
  const drives = [
    { deviceId: moving, northM: 900 },
    { deviceId: standing, northM: 0.5 },
    { deviceId: slow, northM: 30 },
  ].map(({ deviceId, northM }) => {
    const reports = Array.from({ length: 30 }, (_, half): FixReport => {
      const lat = 50 + (half * northM) / 2 / 111_195
      return { tsMs: startMs + half * 30_000, lat, lon: 8, fixTs: null, accuracyM: 10, speedMps: 10, headingDeg: null }
    })
    const rows = Array.from({ length: 90 }, (_, index) => cellularRow(startMs + 3_000 + index * 10_000))
    return { deviceId, reports, rows }
  })
  for (const { deviceId, reports, rows } of drives) {
    const stored = reports.map((fix) => ({ ...fix, usable: true }))
    await sendRows('location', deviceId, stored, nowMs - minuteMs)
    await sendRows('cellular', deviceId, rows, nowMs - minuteMs)
  }
  const tracks = new Map(drives.map(({ deviceId }) => [deviceId, createDeviceTrack('vehicle')]))
  await recoverTracks(questdb, tracks, { receivedBeforeMs: nowMs, onFailure })
  for (const { deviceId, reports, rows } of drives) {
    const uninterrupted = createDeviceAlignment()
    for (const report of reports) {
      alignReport(uninterrupted, dwellPolicies.vehicle, [report], [])
      const until = report.tsMs + 30_000
      alignReport(
        uninterrupted,
        dwellPolicies.vehicle,
        [],
        rows.filter(({ tsMs }) => tsMs > report.tsMs && tsMs <= until),
      )
    }
    const track = tracks.get(deviceId)
    const [kept, recovered] = [factsOf(uninterrupted), factsOf(track?.alignment)]
    const timesOf = (state: typeof kept | undefined) => state?.trailing.map(({ tsMs }) => tsMs)
    expect(timesOf(recovered)).toEqual(timesOf(kept))
    expect(recovered?.dwell).toEqual(kept?.dwell)
    expect(recovered?.undecidedMs).toBe(kept?.undecidedMs)
    expect(recovered?.droppedUntilMs).toBe(0)
    expect(track?.dirty).toEqual([])
  }
})

/** The same database, which also collects the texts of its statements. */
function recorded(texts: string[]): QuestdbSql {
  return {
    ...questdb,
    query(text, values) {
      texts.push(text)
      return questdb.query(text, values)
    },
    queryArrays(text, values) {
      texts.push(text)
      return questdb.queryArrays(text, values)
    },
  }
}

/** Stores this many devices with three recent fixes each, of which every second stands since `index` minutes before them. */
async function storeFleet(count: number, nowMs: number): Promise<string[]> {
  const organizationId = newId()
  const fixes: StoredRow[] = []
  const dwells: StoredRow[] = []
  const deviceIds = Array.from({ length: count }, () => newId())
  for (const [index, deviceId] of deviceIds.entries()) {
    const fixAt = (minutesAgo: number, northM: number) => {
      const tsMs = nowMs - minutesAgo * minuteMs
      fixes.push({ tsMs, deviceId, organizationId, lat: 50 + index + northM / 111_195, lon: 8, usable: true })
      return tsMs
    }
    const older = 21 + (index % 40)
    if (index % 2 === 1) {
      // A fix before the dwell, which does not belong to it.
      fixAt(older + 7, 5_000)
      const arrivedAtMs = fixAt(older + 6, 0)
      fixAt(older + 1, 20)
      const lastInsideAtMs = fixAt(1, 10)
      const stay = { id: newId(), departedAtMs: null, lat: 50, lon: 8, radiusM: 0, fixCount: 1, gap: false }
      dwells.push({ tsMs: arrivedAtMs, deviceId, organizationId, ...stay, lastInsideAtMs })
    } else {
      fixAt(older, 0)
      for (const minutesAgo of [3, 2, 1]) fixAt(minutesAgo, (4 - minutesAgo) * 60)
    }
  }
  await storeRows(questdb, 'location', fixes)
  await storeRows(questdb, 'dwell', dwells)
  return deviceIds
}

test('recovers many devices with few statements, each like alone', { timeout: 60_000 }, async () => {
  const nowMs = Date.now()
  const deviceIds = await storeFleet(150, nowMs)
  const recover = async (sql: QuestdbSql, ids: readonly string[]) => {
    const tracks = new Map(ids.map((deviceId) => [deviceId, createDeviceTrack('vehicle')]))
    await recoverTracks(sql, tracks, { receivedBeforeMs: nowMs, onFailure })
    return tracks
  }
  const texts: string[] = []
  const together = await recover(recorded(texts), deviceIds)
  expect(texts.length).toBeLessThan(20)
  for (const [index, deviceId] of deviceIds.entries()) {
    const track = together.get(deviceId)
    const alone = (await recover(questdb, [deviceId])).get(deviceId)
    expect(factsOf(track?.alignment)).toEqual(factsOf(alone?.alignment))
    expect(track?.past).toEqual(alone?.past)
    const olderMs = nowMs - (21 + (index % 40)) * minuteMs
    if (index % 2 === 0) expect(track?.past).toEqual({ tsMs: olderMs, lat: 50 + index, lon: 8 })
    else expect(openDwellOf(track?.alignment)?.arrivedAtMs).toBe(olderMs - 6 * minuteMs)
  }
})

test('QuestDB compiles few different statements for groups of any size', { timeout: 60_000 }, async () => {
  const nowMs = Date.now()
  const deviceIds = await storeFleet(40, nowMs)
  const texts: string[] = []
  for (let count = 1; count <= deviceIds.length; count++) {
    const tracks = new Map(deviceIds.slice(0, count).map((deviceId) => [deviceId, createDeviceTrack('vehicle')]))
    await recoverTracks(recorded(texts), tracks, { receivedBeforeMs: nowMs, onFailure })
  }
  expect(new Set(texts).size).toBeLessThan(30)
})

/** Many rows, the way the writer sends them. */
async function sendRows(
  table: TableName,
  deviceId: string,
  rows: readonly { tsMs: number }[],
  receivedAtMs = Date.now() - minuteMs,
): Promise<void> {
  const { httpUrl: url, user, password } = questdbConnection()
  const transport = openIlpTransport({ url, user, password: new Secret(password) })
  const encoder = createRowEncoder(tables[table])
  const origin = { deviceId, organizationId: newId(), receivedAtMs }
  for (const row of rows) encoder.append(row, origin)
  expect(await transport.send(encoder.take().bytes)).toEqual({ kind: 'stored' })
  await transport.close()
  await applied(questdb, table)
}

test('recovers a device with many large rows within limits, without affecting other devices', {
  timeout: 120_000,
}, async () => {
  const [noisy, quiet] = [newId(), newId()]
  const nowMs = Date.now()
  const fix = (tsMs: number, northM: number) => ({ tsMs, lat: 50 + northM / 111_195, lon: 8, usable: true })
  // More than was read of fifty devices together, oldest first.
  const newestMs = nowMs - 2 * minuteMs
  const fixes = Array.from({ length: 210_000 }, (_, index) => fix(newestMs - index * 5, index % 50))
  await sendRows('location', noisy, fixes)
  const cells = 'x'.repeat(10_000)
  const radio = Array.from({ length: 600 }, (_, second) => ({
    tsMs: newestMs - second * 1_000,
    cells,
    alignment: 'none',
  }))
  await sendRows('cellular', noisy, radio)
  await sendRows('location', quiet, [fix(nowMs - 90_000, 0), fix(nowMs - 80_000, 100)])
  await sendRows('cellular', quiet, [{ tsMs: nowMs - 75_000 }])
  const tracks = new Map([noisy, quiet].map((deviceId) => [deviceId, createDeviceTrack('vehicle')]))
  await recoverTracks(questdb, tracks, { receivedBeforeMs: nowMs, onFailure })
  const stateOf = (deviceId: string) => tracks.get(deviceId)?.alignment
  expect(stateOf(quiet)).toMatchObject({ newestReportMs: nowMs - 80_000, trailing: [{ tsMs: nowMs - 75_000 }] })
  expect(stateOf(noisy)?.newestReportMs).toBe(newestMs)
  const kept = stateOf(noisy)?.trailing ?? []
  expect(kept.reduce((sum, row) => sum + row.restBytes, 0)).toBeLessThanOrEqual(1024 * 1024)
  // What was not read is worked through again from storage.
  expect(tracks.get(noisy)?.past).toBeDefined()
})
