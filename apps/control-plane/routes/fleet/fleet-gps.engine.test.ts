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

async function gps({ key }: Organization, query = '') {
  const { status, body } = await api.call('GET', `/fleet/gps?${query}`, { token: key })
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
    .poll(() => deviceIn(organization, deviceId), { timeout: 30_000 })
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

test('the signal of a device is that of its active modem, and include=modems returns each modem', async () => {
  const organization = await api.newOrganization()
  const deviceId = await newDevice(organization)
  const row = (agoMs: number, fields: Record<string, unknown>) => ({
    ...{ tsMs: Date.now() - agoMs, receivedAtMs: Date.now(), deviceId, organizationId: organization.id },
    ...fields,
  })
  await store('location', row(minuteMs, fix))
  const connected = (agoMs: number, modem: string) =>
    store('connection', row(agoMs, { modem, interface: modem, state: 'connected' }))
  await connected(3 * minuteMs, 'wwan1')
  await store('cellular', row(2 * minuteMs, { modem: 'wwan1', rat: 'lte', plmn: '26202', rsrpDbm: -80 }))
  await store('cellular', row(minuteMs, { modem: 'wwan0', rat: 'none' }))
  const [first, second] = [
    { modem: 'wwan0', isActive: false, rat: 'none', quality: 'none' },
    { modem: 'wwan1', isActive: true, rat: 'lte', plmn: '26202', rsrpDbm: -80 },
  ]
  const shown = await deviceIn(organization, deviceId)
  expect(shown.signal).toMatchObject({ modem: 'wwan1', rsrpDbm: -80 })
  expect(shown).not.toHaveProperty('modems')
  const read = async (query: string) => {
    const { status, body } = await api.call('GET', `/fleet/gps?${query}`, { token: organization.key })
    expect(status).toBe(200)
    return body
  }
  expect((await read('include=modems')).devices[0].modems).toMatchObject([first, second])
  expect((await read('include=devices,modems&format=columnar')).devices.modems).toMatchObject([[first, second]])
  const { features } = await read('include=modems&format=geojson')
  expect(features[0].properties.modems).toMatchObject([first, second])
  // The other modem takes over.
  await store('cellular', row(30_000, { modem: 'wwan0', rat: 'lte', plmn: '26201', rsrpDbm: -100 }))
  await connected(20_000, 'wwan0')
  await expect
    .poll(() => deviceIn(organization, deviceId), { timeout: 30_000 })
    .toMatchObject({ signal: { modem: 'wwan0', rsrpDbm: -100 } })
})

test('a signal is completed from the samples of its modem and cell in the two minutes before', async () => {
  const organization = await api.newOrganization()
  const deviceId = await newDevice(organization)
  const startMs = Date.now() - 200_000
  const report = (second: number, fields: Record<string, unknown>, modem: string | null = null) =>
    store('cellular', {
      ...{ tsMs: startMs + second * 1_000, receivedAtMs: Date.now(), deviceId, organizationId: organization.id },
      ...{ modem, ...fields },
    })
  const signal = async () => {
    const { signal, modems } = (await gps(organization, 'include=modems')).devices[0]
    const { modem: _modem, isActive, ...ofModem } = modems[0]
    expect({ ...ofModem, isActive }).toMatchObject({ completedFrom: signal.completedFrom, sinrDb: signal.sinrDb })
    const { completedFrom, ts, ageMs: _ageMs, ...fields } = signal
    const second = (time: string | null) => time && (Date.parse(time) - startMs) / 1_000
    return { ...fields, second: second(ts), from: second(completedFrom) }
  }
  const cell = { rat: 'lte', plmn: '26201', cellId: '7' }
  await report(0, { sinrDb: 30 })
  await report(60, { ...cell, rsrpDbm: -100 })
  await report(121, { rsrqDb: -9, operatorName: 'A' })
  // Of a map that has just started.
  expect(await signal()).toMatchObject({
    ...{ rat: 'lte', plmn: '26201', operatorName: 'A', rsrpDbm: -100, rsrqDb: -9, sinrDb: null },
    ...{ quality: 'fair', second: 121, from: 60 },
  })
  // Of a map that follows: several pieces between two looks.
  await report(150, { rsrpDbm: -80 })
  await report(151, { sinrDb: 20 })
  const followed = { rat: 'lte', operatorName: 'A', rsrpDbm: -80, rsrqDb: -9, sinrDb: 20, quality: 'excellent' }
  await expect.poll(signal, { timeout: 20_000 }).toMatchObject({ ...followed, second: 151, from: 60 })
  await report(160, { ...cell, cellId: '8', rsrpDbm: -110, operatorName: 'A' })
  const other = { rat: 'lte', rsrpDbm: -110, rsrqDb: null, sinrDb: null, operatorName: 'A', quality: 'poor' }
  await expect.poll(signal, { timeout: 20_000 }).toMatchObject({ ...other, second: 160, from: null })
  // Another modem completes nothing.
  await report(170, { rat: 'lte', rsrpDbm: -90 }, 'wwan1')
  await report(169, { sinrDb: 5, plmn: '26202' }, 'wwan2')
  const named = async () =>
    (await gps(organization, 'include=modems')).devices[0].modems.map(
      ({ modem, rat, rsrpDbm, sinrDb, plmn }: Record<string, unknown>) => ({ modem, rat, rsrpDbm, sinrDb, plmn }),
    )
  await expect.poll(named, { timeout: 20_000 }).toEqual([
    { modem: null, rat: 'lte', rsrpDbm: -110, sinrDb: null, plmn: '26201' },
    { modem: 'wwan1', rat: 'lte', rsrpDbm: -90, sinrDb: null, plmn: null },
    { modem: 'wwan2', rat: null, rsrpDbm: null, sinrDb: 5, plmn: '26202' },
  ])
})

test('a map that has just started completes the values that few routers report, also beside routers that never do', async () => {
  const organization = await api.newOrganization()
  const [plain, named, five, old] = await Promise.all([1, 2, 3, 4].map(() => newDevice(organization)))
  const report = (deviceId = '', agoS: number, fields: Record<string, unknown> = {}) =>
    store('cellular', {
      ...{ tsMs: Date.now() - agoS * 1_000, receivedAtMs: Date.now(), deviceId, organizationId: organization.id },
      ...{ rat: 'lte', plmn: '26201', cellId: '7', rsrpDbm: -90, rsrqDb: -9, sinrDb: 12, ...fields },
    })
  await report(named, 60, { operatorName: 'A' })
  await report(five, 60, { nrRsrpDbm: -95 })
  await report(old, 200, { operatorName: 'B', nrRsrpDbm: -96 })
  for (const deviceId of [plain, named, five, old]) await report(deviceId, 10)
  const signals = new Map(
    (await gps(organization)).devices.map(
      ({ deviceId, signal }: { deviceId: string; signal: Record<string, unknown> }) => [deviceId, signal],
    ),
  )
  const nothing = { operatorName: null, nrRsrpDbm: null, completedFrom: null }
  expect(signals.get(plain)).toMatchObject(nothing)
  expect(signals.get(named)).toMatchObject({ ...nothing, operatorName: 'A', completedFrom: expect.any(String) })
  expect(signals.get(five)).toMatchObject({ ...nothing, nrRsrpDbm: -95, completedFrom: expect.any(String) })
  expect(signals.get(old)).toMatchObject(nothing)
})

test('of modems without service, a map that has just started shows the one that had it last', async () => {
  const organization = await api.newOrganization()
  const deviceId = await newDevice(organization)
  const report = (agoMinutes: number, modem: string, rat: string) =>
    store('cellular', {
      ...{ tsMs: Date.now() - agoMinutes * minuteMs, receivedAtMs: Date.now() },
      ...{ deviceId, organizationId: organization.id, modem, rat },
    })
  await report(40, 'wwan0', 'lte')
  await report(30, 'wwan1', 'lte')
  await report(2, 'wwan1', 'none')
  await report(1, 'wwan0', 'none')
  expect(await deviceIn(organization, deviceId)).toMatchObject({ signal: { modem: 'wwan1', rat: 'none' } })
  const latest = await api.call('GET', `/api/router/${deviceId}/telemetry/latest`, { token: organization.key })
  expect(latest.body.cellular).toMatchObject({ modem: 'wwan1', rat: 'none' })
})
