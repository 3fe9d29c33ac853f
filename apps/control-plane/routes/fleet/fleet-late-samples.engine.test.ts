import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newId } from '#core/ids'
import { createLiveMaps } from '#fleet-map/live/live-maps'
import { createRevisions } from '#fleet-map/revisions'
import type { Reader } from '#questdb/copies/readers'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { storeRows } from '#test/telemetry-rows'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

test('readers of a large fleet do not wait for late samples, and get the error if these cannot be read', async () => {
  const organization = await api.newOrganization()
  const newDevice = async () => {
    const json = { organizationId: organization.id, serial: newId(), name: 'Router', model: 'R1', tags: [] }
    return (await api.call('POST', '/devices', { token: organization.key, json })).body.id as string
  }
  const [prompt, late] = [await newDevice(), await newDevice()]
  const { pools, readers } = api.services
  let nowMs = Date.now()
  /** What reading the whole window waits for. By the clock of the map, it takes a second, as with a large fleet. */
  let windowIsRead = Promise.resolve()
  const slowed = (reader: Reader): Reader => ({
    ...reader,
    detached: (signal) => slowed(reader.detached(signal)),
    questdb: {
      ...reader.questdb,
      async queryArrays(text, values, signal) {
        if (Date.parse(String(values?.[1])) < nowMs - 2 * hourMs) {
          await windowIsRead
          nowMs += 1_000
        }
        return reader.questdb.queryArrays(text, values, signal)
      },
    },
  })
  const live = createLiveMaps({
    ...{ pools, clock: () => nowMs, revisions: createRevisions() },
    readers: { of: (owner, signal) => slowed(readers.of(owner, signal)) },
  })
  const read = () => {
    nowMs += minuteMs
    return live.read(organization.id, nowMs - hourMs, slowed(readers.of('test')))
  }
  // The second read finds how long the window takes.
  await read()
  await read()

  const fix = { organizationId: organization.id, receivedAtMs: nowMs, lat: 10, lon: 20, fix: '3d', usable: true }
  await storeRows(api.questdb, 'location', [
    { ...fix, deviceId: prompt, tsMs: nowMs },
    { ...fix, deviceId: late, tsMs: nowMs - hourMs },
  ])
  const gate = Promise.withResolvers<void>()
  windowIsRead = gate.promise
  const map = await read()
  expect(map.device(prompt)?.location).toMatchObject({ lat: 10, lon: 20 })
  expect(map.device(late)?.location).toBeNull()

  gate.reject(new Error('The window cannot be read.'))
  await vi.waitFor(() => expect(read()).rejects.toThrow('The window cannot be read.'), 20_000)
  windowIsRead = Promise.resolve()
  await vi.waitFor(async () => {
    await read()
    expect(map.device(late)?.location).toMatchObject({ lat: 10, lon: 20 })
  }, 20_000)
  live.close()
})
