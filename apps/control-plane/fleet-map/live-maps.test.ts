import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { storeRows } from '#test/telemetry-rows'

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

async function deviceIn({ key }: Organization, deviceId: string) {
  const { body } = await api.call('GET', '/fleet/gps', { token: key })
  return body.devices.find((device: { deviceId: string }) => device.deviceId === deviceId)
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const fix = { lat: 10, lon: 20, fix: '3d', usable: true }

test('a device that was registered and reported between two readings is complete in the second', async () => {
  const organization = await api.newOrganization()
  await deviceIn(organization, await newDevice(organization))

  const deviceId = await newDevice(organization)
  const stored = { tsMs: Date.now() - minuteMs, receivedAtMs: Date.now(), deviceId, organizationId: organization.id }
  const stay = {
    id: newId(),
    lastInsideAtMs: stored.tsMs,
    departedAtMs: null,
    firstOutsideAtMs: null,
    withdrawn: false,
  }
  const stayed = { ...stay, lat: 10, lon: 20, radiusM: 5, fixCount: 2, gap: false }
  await Promise.all([
    storeRows(api.services.questdb, 'location', [{ ...stored, ...fix }]),
    storeRows(api.services.questdb, 'cellular', [{ ...stored, rat: 'lte', rsrpDbm: -90 }]),
    storeRows(api.services.questdb, 'dwell', [{ ...stored, ...stayed, tsMs: stored.tsMs - 10 * minuteMs }]),
  ])
  // The picture is followed meanwhile, by looks that do not know the device.
  await pause(1_500)
  expect(await deviceIn(organization, deviceId)).toMatchObject({
    location: { lat: 10, lon: 20 },
    signal: { rsrpDbm: -90 },
    dwell: { radiusM: 5 },
  })
})

test('a late fix from before the newest signal brings what it made of that signal', async () => {
  const organization = await api.newOrganization()
  const deviceId = await newDevice(organization)
  const atMs = Date.now() - 30 * minuteMs
  // The signal came long ago: only by its time of arrival it would not be looked at again.
  const signal = { tsMs: atMs, receivedAtMs: atMs, deviceId, organizationId: organization.id, rat: 'lte', rsrpDbm: -90 }
  await storeRows(api.services.questdb, 'cellular', [{ ...signal, alignment: 'none' }])
  expect(await deviceIn(organization, deviceId)).toMatchObject({ signal: { alignment: 'none', lat: null } })

  const realigned = { alignment: 'held', alignErrorM: 50, alignedLat: 10, alignedLon: 20 }
  await storeRows(api.services.questdb, 'cellular', [{ ...signal, ...realigned }])
  const late = { tsMs: atMs - 5_000, receivedAtMs: Date.now(), deviceId, organizationId: organization.id }
  await storeRows(api.services.questdb, 'location', [{ ...late, ...fix }])
  await expect
    .poll(() => deviceIn(organization, deviceId), { timeout: 10_000 })
    .toMatchObject({ location: { lat: 10 }, signal: { alignment: 'held', lat: 10 } })
})
