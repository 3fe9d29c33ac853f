import { cellToBoundary, cellToCenterChild, cellToLatLng, cellToParent, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { registerDevice, transferDevice } from '#test/registered-device'
import { refreshCoverage, storeRows } from '#test/telemetry-rows'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const valley = latLngToCell(47.1, 12.4, 9)
const pass = latLngToCell(47.6, 12.4, 9)
const inside = (h3: string) => cellToCenterChild(h3, 10)
const none = { rat: 'none', plmn: null }

/** A square of `degrees` around the centre of a cell, as minLon, minLat, maxLon, maxLat. */
function boxAround(h3: string, degrees = 0.05): [number, number, number, number] {
  const [lat, lon] = cellToLatLng(h3)
  return [lon - degrees, lat - degrees, lon + degrees, lat + degrees]
}

const operators = (key: string, query = '') => api.call('GET', `/fleet/operators?${query}`, { token: key })

/** Two trucks: A is everywhere in the valley and never on the pass; B is weak on both. */
async function mountains(plan = 'pro') {
  const organization = await api.newOrganization({ plan })
  const [one, two] = [
    await registerDevice(api.services.pool, organization.id, { tags: ['north'] }),
    await registerDevice(api.services.pool, organization.id),
  ]
  const voter = (deviceId: string) => ({ organizationId: organization.id, deviceId })
  await storeRows(api.questdb, 'cellular', [
    ...votesIn(voter(one), inside(valley), 12, { plmn: '23201', rsrpDbm: -80 }),
    ...votesIn(voter(one), inside(pass), 8, { ...none, lostPlmn: '23201' }),
    ...votesIn(voter(two), inside(valley), 6, { plmn: '23203', rsrpDbm: -105 }),
    ...votesIn(voter(two), inside(pass), 6, { plmn: '23203', rsrpDbm: -110 }),
    ...votesIn(voter(two), inside(pass), 1, { plmn: '23205', rsrpDbm: -60 }, Date.now() - 3_600_000),
  ])
  await refreshCoverage(api.questdb)
  return { organization, two }
}

describe('GET /fleet/operators', () => {
  test('200 ranks by service, then signal, and counts what an operator does not cover', async () => {
    const { organization } = await mountains()
    const { status, body } = await operators(organization.key)
    expect(status).toBe(200)
    expect(body).toMatchObject({ asOf: expect.any(String), window: { limitedBy: null } })
    expect(body.items).toMatchObject([
      { plmn: '23203', samples: 12, serviceRatio: 1, rsrpDbm: { p50: -110 } },
      { plmn: '23201', samples: 20, serviceRatio: 0.6, noServiceS: 8 * 60, rsrpDbm: { p50: -80 } },
      { plmn: '23205', samples: 1 },
    ])
  })

  test('200 in a cell, a place and a box', async () => {
    const { organization } = await mountains()
    const ranked = async (query: string) => {
      const { status, body } = await operators(organization.key, query)
      expect(status).toBe(200)
      return body.items.map(({ plmn, samples }: { plmn: string; samples: number }) => [plmn, samples])
    }
    const ofValley = [
      ['23201', 12],
      ['23203', 6],
    ]
    const ofPass = [
      ['23203', 6],
      ['23201', 8],
      ['23205', 1],
    ]
    for (const resolution of [4, 5, 7]) expect(await ranked(`h3=${cellToParent(valley, resolution)}`)).toEqual(ofValley)
    expect(await ranked(`h3=${inside(pass).toUpperCase()}`)).toEqual(ofPass)
    expect(await ranked(`bbox=${boxAround(pass)}`)).toEqual(ofPass)
    expect(await ranked(`bbox=${boxAround(valley)}`)).toEqual(ofValley)
    expect(await ranked(`bbox=${boxAround(latLngToCell(10, 10, 9))}`)).toEqual([])
    expect(await ranked('bbox=-180,-90,180,90')).toHaveLength(3)

    const [lat, lon] = cellToLatLng(valley)
    const area = { type: 'Circle', lat, lon, radiusM: 2_000 }
    const json = { name: 'Valley', area }
    const place = await api.call('POST', `/orgs/${organization.id}/places`, { token: organization.key, json })
    expect(await ranked(`placeId=${place.body.id}`)).toEqual(ofValley)
    expect(await ranked(`placeId=${place.body.id}&tag=north`)).toEqual([['23201', 12]])
    expect(await ranked('tag=north&rat=lte')).toEqual([['23201', 12]])

    // A yard and a box so small that they contain the centre of no cell.
    const [cornerLat = 0, cornerLon = 0] = cellToBoundary(inside(valley))[0] ?? []
    const [yardLat, yardLon] = [lat + (cornerLat - lat) * 0.8, lon + (cornerLon - lon) * 0.8]
    const yardArea = { type: 'Circle', lat: yardLat, lon: yardLon, radiusM: 10 }
    const yardJson = { name: 'Yard', area: yardArea }
    const yard = await api.call('POST', `/orgs/${organization.id}/places`, { token: organization.key, json: yardJson })
    expect(await ranked(`placeId=${yard.body.id}`)).toEqual(ofValley)
    expect(await ranked(`bbox=${[yardLon, yardLat, yardLon, yardLat]}`)).toEqual(ofValley)
  })

  test('200 has only votes from when the organization owned the device', async () => {
    const { organization, two } = await mountains()
    const other = await api.newOrganization({ plan: 'pro' })
    expect((await operators(other.key)).body.items).toEqual([])
    await transferDevice(api.services.pool, two, other.id, Date.now())
    expect((await operators(other.key)).body.items).toEqual([])
    expect((await operators(organization.key)).body.items).toHaveLength(3)
  })

  test('400 for two areas, a wrong cell, half a range and unknown parameters', async () => {
    const { key } = await api.newOrganization({ plan: 'pro' })
    const twoAreas = await operators(key, `h3=${valley}&bbox=${boxAround(valley)}`)
    expect(twoAreas.status).toBe(400)
    expect(twoAreas.body.errors).toMatchObject([{ detail: 'Send only one of h3, placeId and bbox.' }])
    for (const h3 of ['', 'xyz', cellToParent(valley, 3), cellToCenterChild(valley, 11), '8f'])
      expect((await operators(key, `h3=${h3}`)).status).toBe(400)
    expect((await operators(key, 'from=2026-01-01T00:00:00Z')).status).toBe(400)
    expect((await operators(key, 'zoom=3')).status).toBe(400)
  })

  test('403 without the scope or a plan with coverage, 404 for a place of another organization', async () => {
    const organization = await api.newOrganization({ plan: 'pro' })
    const other = await api.newOrganization({ plan: 'pro' })
    const key = await api.newKey([organization.id], ['device:read'])
    expect((await operators(key, `orgId=${organization.id}`)).status).toBe(403)
    const free = await api.newOrganization({ plan: 'free' })
    expect((await operators(free.key)).body.code).toBe('plan_feature')
    const json = { name: 'Depot', area: { type: 'Circle', lat: 47, lon: 12, radiusM: 500 } }
    const place = await api.call('POST', `/orgs/${other.id}/places`, { token: other.key, json })
    expect((await operators(organization.key, `placeId=${place.body.id}`)).status).toBe(404)
    expect((await operators(organization.key, `orgId=${other.id}`)).status).toBe(404)
  })
})
