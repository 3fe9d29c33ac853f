import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'csv-parse/sync'
import { cellToCenterChild, gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import type { Near } from '#core/near'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { csvCell, openDuckDb, readParquet } from '#test/parquet'
import { registerDevice } from '#test/registered-device'
import { refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'

const run = promisify(execFile)
const minuteMs = 60_000
const metre = 1 / 111_195
const parquet = 'application/vnd.apache.parquet'

let api: TestControlPlane
let folder: string
let fleet: Fleet
let other: Fleet
beforeAll(async () => {
  api = await startControlPlane()
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-parquet-'))
  fleet = await newFleet(50)
  other = await newFleet(20)
  await refreshCoverage(api.questdb)
})
afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true })
})

type Fleet = Awaited<ReturnType<typeof newFleet>>

/** An organization with a device that reported every kind of sample, with and without a position, and drove between dwells. */
async function newFleet(lat: number) {
  const organization = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, organization.id)
  const of = { deviceId, organizationId: organization.id }
  const nowMs = Math.floor(Date.now() / minuteMs) * minuteMs
  const at = (agoMinutes: number) => nowMs - agoMinutes * minuteMs
  const dwell = (fromMs: number, toMs: number, northM: number): StoredRow => ({
    ...{ ...of, id: newId(), tsMs: fromMs, receivedAtMs: fromMs, departedAtMs: toMs, lastInsideAtMs: toMs },
    ...{ lat: lat + northM * metre, lon: 8, radiusM: 5.5, fixCount: 2, gap: false, withdrawn: false },
  })
  await storeRows(api.questdb, 'dwell', [
    dwell(at(300), at(200), 0),
    dwell(at(190), at(120), 6_000),
    dwell(at(110), at(60), 12_000),
  ])
  const drive = (fromMs: number, fromM: number) =>
    Array.from({ length: 21 }, (_, index) => ({
      ...{ ...of, tsMs: fromMs + index * 30_000, lat: lat + (fromM + index * 300) * metre, lon: 8 },
      ...{ accuracyM: 5, fix: '3d', usable: true, altitudeM: index === 3 ? -12.25 : null },
    }))
  await storeRows(api.questdb, 'location', [
    ...[...drive(at(200), 0), ...drive(at(120), 6_000), ...drive(at(60), 12_000)],
    { ...of, tsMs: at(5), fix: 'none', usable: false },
  ])
  const texts = ['a "b", c', 'Zürich 東京 🚍', 'line\nbreak', ' ', "it's; fine"]
  await storeRows(
    api.questdb,
    'system',
    texts.map((fault, index) => ({ ...of, tsMs: at(30) + index, cpuPct: index / 3, uptimeS: 2 ** 40 + index, fault })),
  )
  const identity = { iccid: '8949000000000000017', imsi: '262010000000017', wanIp: '10.1.2.3' }
  await storeRows(api.questdb, 'connection', [
    { ...of, tsMs: at(31), modem: 'wwan0', interface: 'wwan0', state: 'connected', rxBytes: 2 ** 53, ...identity },
    { ...of, tsMs: at(32), state: 'searching' },
  ])
  const cells = JSON.stringify([{ role: 'neighbor', rat: 'lte', pci: 7, rsrpDbm: -101.5 }])
  const h3s = gridDisk(latLngToCell(lat, 8, 9), 1).map((h3) => cellToCenterChild(h3, 10))
  await storeRows(api.questdb, 'cellular', [
    ...h3s.flatMap((h3) => votesIn(of, h3, 2, { alignedLat: lat, alignedLon: 8, alignment: 'interpolated' })),
    { ...of, tsMs: at(33), rat: 'none', cellId: '68719476735', cells },
  ])
  return { ...organization, deviceId }
}

const paths: Record<string, (fleet: Fleet) => string> = {
  history: ({ deviceId }) => `/api/router/${deviceId}/telemetry/history?sinceMinutes=600`,
  'history by steps': ({ deviceId }) => `/api/router/${deviceId}/telemetry/history?sinceMinutes=600&stepSeconds=3600`,
  coverage: () => '/fleet/coverage?h3Resolution=10',
  trips: () => '/fleet/trips?',
  dwells: () => '/fleet/dwells?',
}
const all = Object.keys(paths)

const pathOf = (name: string, of: Fleet, more = '') => `${paths[name]?.(of)}${more}`

const fetchAs = (token: string, path: string, headers: Record<string, string> = {}) =>
  api.fetch(path, { headers: { authorization: `Bearer ${token}`, ...headers } })

async function files(name: string, of: Fleet, { token = of.key, more = '' } = {}) {
  const csv = await fetchAs(token, pathOf(name, of, `&format=csv${more}`))
  const file = await fetchAs(token, pathOf(name, of, `&format=parquet${more}`))
  expect([csv.status, file.status]).toEqual([200, 200])
  const text = await csv.text()
  const [head = [], ...cells] = parse(text, { relax_column_count: false }) as string[][]
  const bytes = await file.arrayBuffer()
  return { headers: [csv.headers, file.headers], text, bytes, head, cells, ...(await readParquet(bytes)) }
}

describe.each(all)('%s', (name) => {
  test('200 Parquet has the rows, columns and values of CSV', async () => {
    const { headers, head, cells, rows, types, geo } = await files(name, fleet)
    const ending = name.startsWith('history') ? `history-${fleet.deviceId}` : name
    expect(headers.map((answer) => answer.get('content-type'))).toEqual([
      'text/csv; charset=utf-8; header=present',
      parquet,
    ])
    expect(headers.map((answer) => answer.get('content-disposition'))).toEqual(
      ['csv', 'parquet'].map((format) => `attachment; filename="${ending}.${format}"`),
    )
    expect(cells.length).toBeGreaterThan(0)
    expect(Object.keys(types)).toEqual([...head, ...(geo ? ['geometry'] : [])])
    expect(rows.map((row) => head.map((column) => csvCell(row[column])))).toEqual(cells)
  })

  test('200 by Accept, and 406 for a media type that it does not have', async () => {
    const typeFor = async (accept: string) => {
      const answer = await fetchAs(fleet.key, pathOf(name, fleet), { accept })
      await answer.body?.cancel()
      return [answer.status, answer.headers.get('content-type')?.split(';')[0]]
    }
    expect(await typeFor(parquet)).toEqual([200, parquet])
    expect(await typeFor('text/csv')).toEqual([200, 'text/csv'])
    expect(await typeFor('application/json, text/plain, */*')).toEqual([200, 'application/json'])
    const refused = await api.call('GET', pathOf(name, fleet), { token: fleet.key, headers: { accept: 'text/html' } })
    expect([refused.status, refused.body.code]).toEqual([406, 'not_acceptable'])
  })

  test('200 without rows is a file without rows', async () => {
    const none = '&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z'
    const more = { coverage: '&plmn=99999', dwells: none, trips: none }[name] ?? '&modem=none'
    const { head, cells, rows, types } = await files(name, fleet, { more })
    expect([cells, rows]).toEqual([[], []])
    expect(Object.keys(types)).toEqual(expect.arrayContaining(head))
  })
})

test.each(['trips', 'dwells', 'coverage'])(
  'a file of %s has the rows of organizations that the caller can read',
  async (name) => {
    const ownOf = async (of: Fleet) => {
      const { rows } = await files(name, of)
      return new Set(rows.map(({ deviceId, h3 }) => deviceId ?? h3))
    }
    const [own, foreign] = [await ownOf(fleet), await ownOf(other)]
    expect(own.isDisjointFrom(foreign)).toBe(true)
    if (name !== 'coverage') expect([...own]).toEqual([fleet.deviceId])
    const both = await api.newKey([fleet.id, other.id], 'viewer')
    const { rows } = await files(name, fleet, { token: both })
    expect(new Set(rows.map(({ deviceId, h3 }) => deviceId ?? h3))).toEqual(own.union(foreign))
    const query = `&orgId=${fleet.id}&format=parquet`
    expect(await api.call('GET', pathOf(name, fleet, query), { token: other.key })).toMatchObject({ status: 404 })
  },
)

test('404 for the history of a device of another organization', async () => {
  const path = pathOf('history', fleet, '&format=parquet')
  expect(await api.call('GET', path, { token: other.key })).toMatchObject({ status: 404 })
})

test('identities are masked without the scope, as in CSV', async () => {
  const identities = async (token: string) => {
    const { rows, head, cells } = await files('history', fleet, { token, more: '&kind=connection' })
    expect(rows.map((row) => head.map((column) => csvCell(row[column])))).toEqual(cells)
    return rows.map(({ iccid, imsi, wanIp }) => [iccid, imsi, wanIp])[0]
  }
  expect(await identities(fleet.key)).toEqual(['8949000000000000017', '262010000000017', '10.1.2.3'])
  const viewer = await api.newKey([fleet.id], 'viewer')
  expect(await identities(viewer)).toEqual(['***************0017', '***********0017', null])
})

test('the columns have types, and rows with a position a geometry', async () => {
  const { rows, types, geo } = await files('history', fleet)
  expect(types).toMatchObject({
    ...{ ts: 'TIMESTAMP_MILLIS', kind: 'UTF8', tsCorrected: 'BOOLEAN', rsrpDbm: 'DOUBLE', rxBytes: 'DOUBLE' },
    ...{ usable: 'BOOLEAN', fixTs: 'TIMESTAMP_MILLIS', cellId: 'UTF8', cells: 'UTF8', geometry: 'GEOMETRY' },
  })
  expect(geo).toMatchObject({
    version: '1.1.0',
    primary_column: 'geometry',
    columns: { geometry: { encoding: 'WKB' } },
  })
  for (const { lat, lon, geometry } of rows)
    expect(geometry).toEqual(lat === null ? null : { type: 'Point', coordinates: [lon, lat] })
  expect(geo.columns.geometry).toMatchObject({ geometry_types: ['Point'], bbox: [8, 50, 8, expect.any(Number)] })
  expect(rows.some(({ geometry }) => geometry === null)).toBe(true)
  const system = await files('history', fleet, { more: '&kind=system' })
  expect([system.geo, system.types.geometry]).toEqual([undefined, undefined])
})

test('the geometries are those of the collections in /ogc', async () => {
  for (const name of ['trips', 'dwells', 'coverage']) {
    const query = name === 'coverage' ? 'limit=1000' : ''
    const { body } = await api.call('GET', `/ogc/collections/${name}/items?${query}`, { token: fleet.key })
    const { rows } = await files(name, fleet)
    const keyOf = (row: Record<string, unknown>) => row.h3 ?? row.departedAt ?? row.dwellId
    const time = (value: unknown) => (value instanceof Date ? value.toISOString() : value)
    const found = new Map(rows.map((row) => [time(keyOf(row)), row]))
    expect(body.features).toHaveLength(rows.length)
    for (const { geometry, properties } of body.features) {
      const { geometry: own, ...row } = found.get(keyOf(properties)) ?? {}
      expect(own).toEqual(geometry)
      const values = Object.entries(row).map(([column, value]) => [column, csvCell(value)])
      const { feature: _feature, ...expected } = properties
      expect(Object.fromEntries(values)).toEqual(
        Object.fromEntries(Object.entries(expected).map(([column, value]) => [column, csvCell(value)])),
      )
    }
  }
})

test('the nearest towns are those of JSON, with distance and bearing', async () => {
  const towns = async (name: 'dwells' | 'trips', prefix: string) => {
    const { rows } = await files(name, fleet)
    return rows.map((row) => members.map((member) => csvCell(row[`${prefix}near_${member}`])))
  }
  const members = ['name', 'country', 'distanceKm', 'bearing'] as const
  const expected = (near: Near | undefined) => members.map((member) => csvCell(near?.[member]))
  const listed = async (name: string) => (await api.call('GET', `/fleet/${name}`, { token: fleet.key })).body.items
  const dwells: { near: Near }[] = await listed('dwells')
  expect(dwells.map(({ near }) => near.bearing > 0)).toEqual([true, true, true])
  expect(await towns('dwells', '')).toEqual(dwells.map(({ near }) => expected(near)))
  const trips: { from: { near: Near }; to: { near: Near } | null }[] = await listed('trips')
  expect(await towns('trips', 'from_')).toEqual(trips.map(({ from }) => expected(from.near)))
  expect(await towns('trips', 'to_')).toEqual(trips.map(({ to }) => expected(to?.near)))
})

test('limit and cursor select the rows of a file', async () => {
  const page = await api.call('GET', '/fleet/dwells?limit=1', { token: fleet.key })
  const all = await files('dwells', fleet)
  expect(all.rows).toHaveLength(3)
  expect((await files('dwells', fleet, { more: '&limit=2' })).rows).toEqual(all.rows.slice(0, 2))
  const rest = await files('dwells', fleet, { more: `&cursor=${page.body.nextCursor}` })
  expect(rest.rows).toEqual(all.rows.slice(1))
})

test('a file breaks off when its caller can no longer read one of its organizations', async () => {
  const [one, two] = [await api.newOrganization(), await api.newOrganization()]
  const key = await api.newKey([one.id, two.id], 'viewer')
  for (const { id: organizationId } of [one, two]) {
    const deviceId = await registerDevice(api.services.pool, organizationId)
    const dwells = Array.from({ length: 300 }, (_, index): StoredRow => {
      const tsMs = Date.now() - (index + 2) * minuteMs
      const of = { deviceId, organizationId, id: newId(), receivedAtMs: tsMs, departedAtMs: tsMs + minuteMs }
      return {
        ...of,
        tsMs,
        lastInsideAtMs: tsMs,
        lat: 1,
        lon: 1,
        radiusM: 5,
        fixCount: 2,
        gap: false,
        withdrawn: false,
      }
    })
    await storeRows(api.questdb, 'dwell', dwells)
  }
  const reader = (await fetchAs(key, '/fleet/dwells?format=csv')).body?.getReader()
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0)
  const values = [key.split('_')[1], two.id]
  await api.services.pool.query('DELETE FROM api_key_grant WHERE api_key_id = $1 AND organization_id = $2', values)
  // What was sent before may still be read.
  const readAll = async () => {
    while (!(await reader?.read())?.done);
  }
  await expect(readAll()).rejects.toThrow('No such organization')
})

test('DuckDB reads as many rows and the same values as from CSV', async (context) => {
  const duckdb = await openDuckDb()
  if (!duckdb) return context.skip('DuckDB is not installed')
  try {
    for (const name of all) {
      const { bytes, text, cells, geo } = await files(name, fleet)
      const at = (ending: string) => join(folder, `${name.replaceAll(' ', '-')}.${ending}`)
      await writeFile(at('parquet'), new Uint8Array(bytes))
      await writeFile(at('csv'), text)
      const parquetRows = `(SELECT * ${geo ? 'EXCLUDE geometry' : ''} FROM read_parquet('${at('parquet')}'))`
      const types = await duckdb.query(`DESCRIBE SELECT * FROM ${parquetRows}`)
      const columns = types.map(({ column_name: column, column_type: type }) => `'${column}': '${type}'`)
      const csvRows = `(SELECT * FROM read_csv('${at('csv')}', header = true, quote = '"', escape = '"', nullstr = '', columns = {${columns}}))`
      const differing = async (a: string, b: string) => duckdb.query(`SELECT * FROM ${a} EXCEPT ALL SELECT * FROM ${b}`)
      expect(await duckdb.query(`SELECT count(*)::INT AS rows FROM ${parquetRows}`)).toEqual([{ rows: cells.length }])
      expect(await differing(parquetRows, csvRows)).toEqual([])
      expect(await differing(csvRows, parquetRows)).toEqual([])
    }
  } finally {
    duckdb.close()
  }
})

test('ogrinfo reads the points of a history', async (context) => {
  const formats = await run('ogrinfo', ['--formats']).catch(() => undefined)
  if (!formats?.stdout.includes('Parquet')) return context.skip('ogrinfo cannot read Parquet')
  const { bytes, rows } = await files('history', fleet)
  const path = join(folder, 'points.parquet')
  await writeFile(path, new Uint8Array(bytes))
  const { stdout } = await run('ogrinfo', ['-so', '-al', path])
  expect(stdout).toContain(`Feature Count: ${rows.length}`)
  expect(stdout).toContain('Geometry: Point')
})
