import { expect, test } from 'vitest'
import { createOrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'

const entry = (deviceId: string, name = 'Router') => ({
  ...{ deviceId, organizationId: 'organization', name, status: 'online', tags: [], ownedFromMs: null },
})

const minuteMs = 60_000

test('a modem is active for 15 minutes after its connection, and then the one with the newest service', () => {
  const map = createOrganizationMap('organization', createRevisions())
  map.applyRegistry([entry('a')])
  const unknown = { plmn: null, operatorName: null, rsrpDbm: null, rsrqDb: null, sinrDb: null, nrRsrpDbm: null }
  const place = { alignment: null, alignErrorM: null, lat: null, lon: null, completedFromMs: null }
  const report = (minute: number, modem: string, rat: string) => {
    const signal = { tsMs: minute * minuteMs, modem, rat, quality: null, qualityBasis: null, ...unknown, ...place }
    map.applySignals([{ deviceId: 'a', state: signal }])
  }
  const at = (minute: number, modem: string) => [{ deviceId: 'a', state: { modem, tsMs: minute * minuteMs } }]
  const active = () => map.device('a')?.signal?.modem
  report(100, 'wwan0', 'lte')
  report(101, 'wwan1', 'none')
  map.applyConnected(at(99, 'wwan1'))
  expect(active()).toBe('wwan1')
  const revision = map.changedAt()
  map.expireConnections(113 * minuteMs)
  expect([active(), map.changedAt()]).toEqual(['wwan1', revision])
  // Without a report of the device.
  map.expireConnections(115 * minuteMs)
  expect(active()).toBe('wwan0')
  expect(map.changedSince(revision)).toHaveLength(1)
  map.applyConnected(at(99, 'wwan1'))
  expect(active()).toBe('wwan0')
  // Both without service: the one that had it last.
  report(116, 'wwan0', 'none')
  expect(active()).toBe('wwan0')
  map.applyServed(at(100.5, 'wwan1'))
  expect(active()).toBe('wwan1')
})

test('a watcher is told the ordinal of each device that is added, changed or removed, until it stops', () => {
  const map = createOrganizationMap('organization', createRevisions())
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
