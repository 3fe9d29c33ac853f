import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { type StoredRow, storeRows } from '#test/telemetry-rows'

const minuteMs = 60_000

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

async function newDevice({ id, key }: Organization): Promise<string> {
  const json = { organizationId: id, serial: newId(), name: 'Router', model: 'R1', tags: [] }
  const created = await api.call('POST', '/devices', { token: key, json })
  expect(created.status).toBe(201)
  return created.body.id
}

async function gps({ key }: Organization) {
  const { status, body } = await api.call('GET', '/fleet/gps', { token: key })
  expect(status).toBe(200)
  return body
}

async function deviceIn(organization: Organization, deviceId: string) {
  const { devices } = await gps(organization)
  return devices.find((device: { deviceId: string }) => device.deviceId === deviceId)
}

const store = (table: Parameters<typeof storeRows>[1], row: StoredRow) => storeRows(api.questdb, table, [row])
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const fix = { lat: 10, lon: 20, fix: '3d', usable: true }
const stay = () => ({ id: newId(), departedAtMs: null, lat: 10, lon: 20, radiusM: 5, fixCount: 2, gap: false })

test('a device that was registered and reported between two requests is complete in the second', async () => {
  const organization = await api.newOrganization()
  await deviceIn(organization, await newDevice(organization))

  const deviceId = await newDevice(organization)
  const stored = { tsMs: Date.now() - minuteMs, receivedAtMs: Date.now(), deviceId, organizationId: organization.id }
  await Promise.all([
    store('location', { ...stored, ...fix }),
    store('cellular', { ...stored, rat: 'lte', rsrpDbm: -90 }),
    store('dwell', { ...stored, ...stay(), tsMs: stored.tsMs - 10 * minuteMs }),
  ])
  // The picture is followed meanwhile, by looks that do not know the device.
  await pause(1_500)
  expect(await deviceIn(organization, deviceId)).toMatchObject({
    location: { lat: 10, lon: 20 },
    signal: { rsrpDbm: -90 },
    dwell: { radiusM: 5 },
  })
})

test('a late fix updates the position of the newest signal', async () => {
  const organization = await api.newOrganization()
  const deviceId = await newDevice(organization)
  const atMs = Date.now() - 30 * minuteMs
  // The signal came long ago: only by its time of arrival it would not be looked at again.
  const signal = { tsMs: atMs, receivedAtMs: atMs, deviceId, organizationId: organization.id, rat: 'lte', rsrpDbm: -90 }
  await store('cellular', { ...signal, alignment: 'none' })
  expect(await deviceIn(organization, deviceId)).toMatchObject({ signal: { alignment: 'none', lat: null } })

  await store('cellular', { ...signal, alignment: 'held', alignErrorM: 50, alignedLat: 10, alignedLon: 20 })
  const late = { tsMs: atMs - 5_000, receivedAtMs: Date.now(), deviceId, organizationId: organization.id }
  await store('location', { ...late, ...fix })
  await expect
    .poll(() => deviceIn(organization, deviceId), { timeout: 10_000 })
    .toMatchObject({ location: { lat: 10 }, signal: { alignment: 'held', lat: 10 } })
})

test('the dwells of a deleted device disappear at once', async () => {
  const organization = await api.newOrganization()
  const [kept, deleted] = [await newDevice(organization), await newDevice(organization)]
  for (const deviceId of [kept, deleted]) {
    await store('dwell', { ...stay(), tsMs: Date.now() - 10 * minuteMs, deviceId, organizationId: organization.id })
  }
  expect((await gps(organization)).dwells).toHaveLength(2)

  const { status } = await api.call('DELETE', `/devices/${deleted}`, { token: organization.key })
  expect(status).toBe(204)
  expect((await gps(organization)).dwells).toMatchObject([{ deviceId: kept }])
})

test('deviceId returns only these devices, with the other filters, and nothing of another organization', async () => {
  const organization = await api.newOrganization()
  const [first, second, third] = [
    await newDevice(organization),
    await newDevice(organization),
    await newDevice(organization),
  ]
  const foreign = await newDevice(await api.newOrganization())
  const stored = { tsMs: Date.now() - minuteMs, receivedAtMs: Date.now(), organizationId: organization.id }
  await store('cellular', { ...stored, deviceId: second, rat: 'lte' })
  const idsFor = async (query: string): Promise<string[]> => {
    const { status, body } = await api.call('GET', `/fleet/gps?include=devices&${query}`, { token: organization.key })
    expect(status).toBe(200)
    return body.devices.map(({ deviceId }: { deviceId: string }) => deviceId)
  }
  const both = `deviceId=${second}&deviceId=${first}&deviceId=${second}&deviceId=${foreign}`
  expect(await idsFor(both)).toEqual([first, second])
  await expect.poll(() => idsFor(`${both}&rat=lte`), { timeout: 10_000 }).toEqual([second])
  expect(await idsFor(`deviceId=${third}&tag=bus`)).toEqual([])
  expect(await idsFor(`deviceId=${foreign}`)).toEqual([])

  // A delta reports changes of these devices only.
  const ask = (query: string) => api.call('GET', `/fleet/gps?include=devices&${query}`, { token: organization.key })
  const { asOf } = (await ask(`deviceId=${first}`)).body
  await api.call('PATCH', `/devices/${first}`, { token: organization.key, json: { name: 'Renamed' } })
  await api.call('PATCH', `/devices/${third}`, { token: organization.key, json: { name: 'Renamed' } })
  const delta = await ask(`deviceId=${first}&since=${asOf}`)
  expect(delta.body.devices).toMatchObject([{ deviceId: first, name: 'Renamed' }])
  expect((await ask(`deviceId=router`)).status).toBe(400)
  const many = Array.from({ length: 101 }, () => `deviceId=${newId()}`).join('&')
  expect((await ask(many)).status).toBe(400)
})
