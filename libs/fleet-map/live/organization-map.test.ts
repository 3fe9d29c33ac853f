import { expect, test } from 'vitest'
import { createOrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'

test('a watcher is told the ordinal of each device that is added, changed or removed, until it stops', () => {
  const map = createOrganizationMap('organization', createRevisions())
  const entry = (deviceId: string, name = 'Router') => ({
    ...{ deviceId, organizationId: 'organization', name, status: 'online', tags: [], ownedFromMs: null },
  })
  const fix = { tsMs: 1, lat: 1, lon: 1, fix: null, accuracyM: null, speedMps: null, headingDeg: null }
  const dwell = { arrivedAtMs: 1, lat: 1, lon: 1, radiusM: 1 }
  map.applyRegistry([entry('a')])
  let told: number[] = []
  const stop = map.watch((ordinal) => told.push(ordinal))
  const toldBy = (change: () => void) => {
    told = []
    change()
    return told
  }
  expect(toldBy(() => map.applyRegistry([entry('a'), entry('b')]))).toEqual([1])
  expect(toldBy(() => map.applyRegistry([entry('a', 'Renamed'), entry('b')]))).toEqual([0])
  expect(toldBy(() => map.applyLocations([{ deviceId: 'b', state: fix }]))).toEqual([1])
  expect(toldBy(() => map.applyLocations([{ deviceId: 'b', state: fix }]))).toEqual([])
  expect(toldBy(() => map.replaceDwells([{ deviceId: 'a', state: dwell }]))).toEqual([0])
  expect(map.deviceAt(1)?.entry.deviceId).toBe('b')
  expect(toldBy(() => map.remove(['b', 'unknown']))).toEqual([1])
  expect(map.deviceAt(1)).toBeUndefined()
  expect(toldBy(() => map.applyRegistry([entry('b')]))).toEqual([2])
  stop()
  expect(toldBy(() => map.remove(['a']))).toEqual([])
})
