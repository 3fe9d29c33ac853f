import { cellToLatLng, cellToParent, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { coverageCell, coverageVotes, tallyVotes } from '#telemetry/coverage/coverage'
import type { CellularRow } from '#telemetry/report/rows'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

/** Pseudo-random numbers that are the same in every run. */
function sequence(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state / 0x7fffffff) * below
  }
}

const rats = ['lte', 'lte', 'nr-sa', 'none', null]
const plmns = ['27201', '27202', null]
const modems = ['wwan0', null]

/** Generates rows of a device that drives through a few cells: some without a cell or service, several per minute. */
function drive(organizationId: string, deviceId: string, seed: number, rows: number, endMs: number): StoredRow[] {
  const next = sequence(seed)
  return Array.from({ length: rows }, (_, index) => {
    const h3 = latLngToCell(51.9 + Math.floor(next(4)) * 0.002, -8.47 + Math.floor(next(3)) * 0.002, 10)
    const isPlaced = next(10) > 1
    const rat = rats[Math.floor(next(rats.length))] ?? null
    return {
      tsMs: endMs - index * 17_000,
      deviceId,
      organizationId,
      modem: modems[Math.floor(next(modems.length))] ?? null,
      rat,
      plmn: rat === 'none' ? null : (plmns[Math.floor(next(plmns.length))] ?? null),
      lostPlmn: rat === 'none' ? (plmns[Math.floor(next(plmns.length))] ?? null) : null,
      rsrpDbm: rat === 'none' ? null : Math.round(next(800) - 1_400) / 10,
      sinrDb: next(5) < 1 ? null : Math.round(next(300) - 50) / 10,
      h3Res10: isPlaced ? BigInt(`0x${h3}`) : null,
      h3Res5: isPlaced ? BigInt(`0x${cellToParent(h3, 5)}`) : null,
    }
  })
}

/** Computes the coverage of these rows with the reference implementation, in the format of the API. */
function expected(rows: readonly StoredRow[], resolution: number) {
  const votes = coverageVotes(rows as unknown as (CellularRow & { deviceId: string })[])
  return [...tallyVotes(votes, resolution).values()]
    .map((tally) => {
      const { lastAtMs, ...cell } = coverageCell(tally)
      return { ...cell, lastAt: new Date(lastAtMs).toISOString() }
    })
    .sort(byIndex)
}

const byIndex = (a: { h3: string }, b: { h3: string }) => (a.h3 < b.h3 ? -1 : 1)

async function fleet() {
  const organization = await api.newOrganization()
  const newDevice = async (tags: string[] = []): Promise<string> => {
    const json = { organizationId: organization.id, serial: crypto.randomUUID(), name: 'Van', model: 'R1', tags }
    return (await api.call('POST', '/devices', { token: organization.key, json })).body.id
  }
  return { organization, newDevice }
}

async function coverage(key: string, query: string) {
  const { body } = await api.call('GET', `/fleet/coverage?${query}`, { token: key })
  return { ...body, items: [...body.items].sort(byIndex) }
}

const store = (rows: readonly StoredRow[]) => storeRows(api.questdb, 'cellular', rows)

test('coverage equals a reference count at every resolution, including late and replaced rows', async () => {
  const { organization, newDevice } = await fleet()
  const [one, two] = [await newDevice(['north']), await newDevice()]
  const endMs = Date.now()
  const first = drive(organization.id, one, 1, 700, endMs)
  const second = drive(organization.id, two, 2, 500, endMs - 3_000)
  const late = drive(organization.id, two, 3, 200, endMs - hourMs - 5_000)
  // Realignment: the same samples in other cells, and some without a cell.
  const realigned = first.slice(100, 160).map((row, index) => ({
    ...row,
    h3Res10: index % 3 === 0 ? null : BigInt(`0x${latLngToCell(51.95, -8.5, 10)}`),
    h3Res5: index % 3 === 0 ? null : BigInt(`0x${cellToParent(latLngToCell(51.95, -8.5, 10), 5)}`),
  }))
  await store(first)
  await store(second)
  await refreshCoverage(api.questdb)
  await store(late)
  await store(realigned)
  await refreshCoverage(api.questdb)

  const replaced = new Set(realigned.map((row) => row.tsMs))
  const rows = [...first.filter((row) => !replaced.has(row.tsMs)), ...realigned, ...second, ...late]
  for (const h3Resolution of [10, 8, 5]) {
    const found = await coverage(organization.key, `h3Resolution=${h3Resolution}`)
    expect(found.items).toEqual(expected(rows, h3Resolution))
    expect(found.items.length).toBeGreaterThan(0)
  }
  expect((await coverage(organization.key, 'tag=north&h3Resolution=10')).items).toEqual(
    expected(
      rows.filter((row) => row.deviceId === one),
      10,
    ),
  )
  const operator = await coverage(organization.key, 'plmn=27202&h3Resolution=10')
  expect(
    operator.items.every((cell: { byPlmn: object }) => Object.keys(cell.byPlmn).every((plmn) => plmn === '27202')),
  ).toBe(true)
  expect((await coverage(organization.key, '')).h3Resolution).toBe(10)
  expect(await coverage(organization.key, 'zoom=11')).toMatchObject({ h3Resolution: 8 })

  const [cell] = expected(rows, 10)
  const [lat, lon] = cellToLatLng(cell?.h3 ?? '')
  const box = [lon - 1e-4, lat - 1e-4, lon + 1e-4, lat + 1e-4].map((degrees) => degrees.toFixed(6)).join(',')
  expect((await coverage(organization.key, `bbox=${box}&h3Resolution=10`)).items).toEqual([cell])

  const gps = (await api.call('GET', '/fleet/gps?h3Resolution=10', { token: organization.key })).body
  const plain = expected(rows, 10).map(({ byRat: _byRat, byPlmn: _byPlmn, ...shown }) => shown)
  expect([...gps.coverage].sort(byIndex)).toEqual(plain)
  const hexagons = (
    await api.call('GET', '/fleet/gps?h3Resolution=10&format=geojson&include=coverage', { token: organization.key })
  ).body
  expect(hexagons.features).toHaveLength(plain.length)
  expect(hexagons.features[0].geometry.coordinates[0].length).toBeGreaterThanOrEqual(6)
})

test('the start of a window counts single votes, not whole hours', async () => {
  const { organization, newDevice } = await fleet()
  const deviceId = await newDevice()
  const rows = drive(organization.id, deviceId, 4, 900, Date.now())
  await store(rows)
  await refreshCoverage(api.questdb)
  const askedMs = Date.now()
  const { items } = await coverage(organization.key, 'sinceMinutes=130&h3Resolution=10')
  // The window moves while the request is processed. Its edge is between these two times.
  const candidates = [0, 1_000, 2_000, 3_000].map((lagMs) =>
    expected(
      rows.filter((row) => row.tsMs >= askedMs + lagMs - 130 * minuteMs),
      10,
    ),
  )
  expect(candidates).toContainEqual(items)
})

test('a window of the past counts the votes and devices between its ends, also where these are within an hour', async () => {
  const { organization, newDevice } = await fleet()
  const hourStartMs = Math.floor(Date.now() / hourMs) * hourMs - 8 * hourMs
  const rows: StoredRow[] = []
  for (let device = 0; device < 8; device++) {
    // Each device drives for 34 minutes, so that some vote only before or only after an end of a window, in the same hour.
    rows.push(...drive(organization.id, await newDevice(), 10 + device, 120, hourStartMs + device * 34 * minuteMs))
  }
  await store(rows)
  await refreshCoverage(api.questdb)
  const windows = [
    [-10, 150],
    [17, 137],
    [60, 180],
    [25, 100],
    [70, 110],
  ] as const
  for (const [fromMinute, toMinute] of windows) {
    const [fromMs, toMs] = [hourStartMs + fromMinute * minuteMs, hourStartMs + toMinute * minuteMs]
    const range = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`
    const { items } = await coverage(organization.key, `${range}&h3Resolution=9`)
    const between = rows.filter(({ tsMs }) => tsMs >= fromMs && tsMs < toMs)
    expect(items).toEqual(expected(between, 9))
  }
})

test('votes without service count: a tunnel has a low service ratio, not a gap', async () => {
  const { organization, newDevice } = await fleet()
  const deviceId = await newDevice()
  const h3 = latLngToCell(52.1, -8.1, 10)
  const cell = { h3Res10: BigInt(`0x${h3}`), h3Res5: BigInt(`0x${cellToParent(h3, 5)}`) }
  const at = (minutes: number, rat: string): StoredRow => ({
    ...{ tsMs: Date.now() - minutes * minuteMs, deviceId, organizationId: organization.id, rat },
    ...(rat === 'none' ? {} : { rsrpDbm: -100, sinrDb: 3 }),
    ...cell,
  })
  await store([at(2, 'none'), at(3, 'none'), at(4, 'none'), at(5, 'lte')])
  await refreshCoverage(api.questdb)
  expect((await coverage(organization.key, 'h3Resolution=10')).items).toMatchObject([
    { h3, samples: 4, serviceRatio: 0.25, rsrpDbm: { p50: -100 }, byRat: { none: 3, lte: 1 }, confidence: 'low' },
  ])
})

test('votes before a transfer do not count, and another organization sees no cells', async () => {
  const { organization, newDevice } = await fleet()
  const buyer = await api.newOrganization()
  const deviceId = await newDevice()
  const both = await api.newKey([organization.id, buyer.id], ['device:transfer', 'device:read'])
  await store(drive(organization.id, deviceId, 5, 100, Date.now() - 10 * minuteMs))
  await api.call('POST', `/devices/${deviceId}/transfer`, { token: both, json: { toOrgId: buyer.id } })
  const buffered = drive(buyer.id, deviceId, 6, 100, Date.now() - 5 * minuteMs)
  const own = drive(buyer.id, deviceId, 7, 1, Date.now() + 2 * minuteMs).map((row) => ({
    ...row,
    h3Res10: BigInt(`0x${latLngToCell(40, 3, 10)}`),
  }))
  await store([...buffered, ...own])
  await refreshCoverage(api.questdb)
  expect((await coverage(organization.key, 'h3Resolution=10')).items.length).toBeGreaterThan(3)
  expect((await coverage(buyer.key, 'h3Resolution=10')).items).toEqual(expected(own, 10))
  expect((await coverage((await api.newOrganization()).key, '')).items).toEqual([])
})
