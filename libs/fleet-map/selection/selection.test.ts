import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOrganizationMap, type OrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'
import { type Found, findCandidates, type MapWindow } from '#fleet-map/selection/candidates'
import type { MapFilter } from '#fleet-map/selection/filter'
import { selectDevices } from '#fleet-map/selection/selection'
import type { BoundingBox } from '#telemetry/geo/geo'

const windowMs = 60 * 60_000
const startMs = Date.UTC(2026, 0, 5)

/** A change of a map at a time, which is in minutes after the start. */
type Change = {
  minute: number
  what: 'register' | 'remove' | 'locate' | 'measure' | 'dwell'
  device: number
  value: number
}

const changes = fc.array(
  fc.record({
    minute: fc.nat({ max: 180 }),
    what: fc.constantFrom<Change['what']>('register', 'register', 'remove', 'locate', 'locate', 'measure', 'dwell'),
    device: fc.nat({ max: 7 }),
    value: fc.nat({ max: 3 }),
  }),
  { maxLength: 40 },
)

const filters = fc.constantFrom<MapFilter>({}, { bbox: [0, 0, 1.5, 1.5] }, { tags: ['tag-1'] }, { rat: 'lte' })

function apply(map: OrganizationMap, { minute, what, device, value }: Change): void {
  const deviceId = `device-${device}`
  const tsMs = startMs + minute * 60_000
  if (what === 'register') {
    const tags = [`tag-${value}`]
    map.applyRegistry([{ deviceId, organizationId: 'o', name: 'R', status: 'online', tags, ownedFromMs: null }])
  } else if (what === 'remove') map.remove([deviceId])
  else if (what === 'locate') {
    const state = { ...noFix, tsMs, lat: value, lon: value }
    map.applyLocations([{ deviceId, state }])
  } else if (what === 'measure') {
    map.applySignals([{ deviceId, state: { ...noSignal, tsMs, rat: value > 1 ? 'lte' : 'nr-sa' } }])
  } else map.replaceDwells([{ deviceId, state: { arrivedAtMs: tsMs, lat: value, lon: 0, radiusM: 1 } }])
}

const noFix = { fix: null, accuracyM: null, speedMps: null, headingDeg: null }

const noSignal = {
  modem: null,
  ...{ rat: null, plmn: null, operatorName: null, rsrpDbm: null, rsrqDb: null, sinrDb: null, rssiDbm: null },
  ...{ quality: null, qualityBasis: null, lat: null, lon: null, alignment: null, alignErrorM: null, alignGapS: null },
} as unknown as Parameters<OrganizationMap['applySignals']>[0][number]['state']

/** The same map for a reader who must visit all devices, because departures from before are unknown. */
const visitAll = ({ map, fromMs }: MapWindow): MapWindow => ({
  map: { ...map, knownSince: () => Number.POSITIVE_INFINITY },
  fromMs,
})

test('a delta that visits only what is new equals one that visits all devices', () => {
  fc.assert(
    fc.property(changes, changes, filters, fc.boolean(), (before, after, filter, isPaged) => {
      const inOrder = (some: readonly Change[]) => some.toSorted((a, b) => a.minute - b.minute)
      const revisions = createRevisions()
      const map = createOrganizationMap('o', revisions)
      const collectIds = Object.keys(filter).length > 0
      const at = (minutes: number) => {
        const nowMs = startMs + minutes * 60_000
        return { nowMs, windows: [{ map, fromMs: nowMs - windowMs }] }
      }
      for (const change of inOrder(before)) apply(map, change)
      const first = at(180)
      const known = selectDevices(first.windows, { filter, limit: 100, nowMs: first.nowMs, collectIds })
      const seen = { revision: revisions.current(), timeMs: first.nowMs, deviceIds: known.matchingIds }
      for (const change of inOrder(after)) apply(map, { ...change, minute: change.minute + 180 })
      const later = at(200 + (after[0]?.minute ?? 0))
      const request = { filter, limit: isPaged ? 2 : 100, seen, nowMs: later.nowMs, collectIds }
      const shown = (windows: MapWindow[]) => {
        const { devices, next, matchingIds, leftIds, digest } = selectDevices(windows, request)
        const deviceIds = devices.map(({ device }) => device.entry.deviceId)
        return { deviceIds, next, matchingIds: [...(matchingIds ?? [])].sort(), leftIds: leftIds.sort(), digest }
      }
      expect(shown(later.windows)).toEqual(shown(later.windows.map(visitAll)))
    }),
    { numRuns: 500 },
  )
})

test('devices that were found in slices while the map changed are those of one visit at the end', async () => {
  await fc.assert(
    fc.asyncProperty(changes, changes, filters, fc.boolean(), async (before, after, filter, isDelta) => {
      const revisions = createRevisions()
      const map = createOrganizationMap('o', revisions)
      const collectIds = Object.keys(filter).length > 0
      const windowsAt = (minutes: number) => [{ map, fromMs: startMs + minutes * 60_000 - windowMs }]
      for (const change of before) apply(map, change)
      const seen = { revision: revisions.current(), timeMs: startMs + 180 * 60_000, deviceIds: undefined }
      for (const change of after.slice(0, 3)) apply(map, { ...change, minute: change.minute + 180 })
      const found = await findCandidates(windowsAt(190), filter)
      for (const change of after.slice(3)) apply(map, { ...change, minute: change.minute + 180 })
      const nowMs = startMs + 230 * 60_000
      const request = { filter, limit: 3, seen: isDelta ? seen : undefined, nowMs, collectIds }
      const shown = (found?: Found[]) => {
        const selected = selectDevices(windowsAt(230).map(visitAll), { ...request, found })
        const { devices, next, matchingIds, leftIds, digest } = selected
        const deviceIds = devices.map(({ device }) => device.entry.deviceId)
        return { deviceIds, next, matchingIds: [...(matchingIds ?? [])].sort(), leftIds: leftIds.sort(), digest }
      }
      expect(shown(found)).toEqual(shown())
    }),
    { numRuns: 300 },
  )
})

test('a delta of a large map visits few devices', () => {
  const revisions = createRevisions()
  const map = createOrganizationMap('o', revisions)
  const entries = Array.from({ length: 20_000 }, (_, index) => ({
    ...{ deviceId: `device-${index}`, organizationId: 'o', name: 'R', status: 'online', tags: [], ownedFromMs: null },
  }))
  map.applyRegistry(entries)
  const seen = { revision: revisions.current(), timeMs: startMs, deviceIds: undefined }
  for (const device of [17, 4]) apply(map, { minute: 1, what: 'locate', device, value: 1 })
  let visited = 0
  const counted: OrganizationMap = {
    ...map,
    devices: () => {
      visited += map.size()
      return map.devices()
    },
  }
  const nowMs = startMs + 120_000
  const windows = [{ map: counted, fromMs: nowMs - windowMs }]
  const { devices } = selectDevices(windows, { filter: {}, limit: 100, seen, nowMs, collectIds: false })
  expect(devices.map(({ device }) => device.entry.deviceId)).toEqual(['device-4', 'device-17'])
  expect(visited).toBe(0)
})

test('a box visits the devices in it, wherever they were before', () => {
  const map = createOrganizationMap('o', createRevisions())
  map.applyRegistry(
    Array.from({ length: 1_000 }, (_, index) => ({
      ...{ deviceId: `device-${index}`, organizationId: 'o', name: 'R', status: 'online', tags: [], ownedFromMs: null },
    })),
  )
  const inBox = (bbox: BoundingBox) => [...map.devicesWithin(bbox)].map(({ entry }) => entry.deviceId)
  const locate = (deviceId: string, tsMs: number, lat: number, lon: number) =>
    map.applyLocations([{ deviceId, state: { ...noFix, tsMs, lat, lon } }])
  locate('device-999', startMs, 10, 20)
  locate('device-7', startMs, 10, 179.5)
  locate('device-8', startMs, -20, 20)
  expect(inBox([19, 9, 21, 11])).toEqual(['device-999'])
  expect(inBox([179, 9, -179, 11])).toEqual(['device-7'])
  locate('device-8', startMs + 1, 10.5, 20)
  expect(inBox([19, 9, 21, 11])).toEqual(['device-8', 'device-999'])
  locate('device-8', startMs + 2, 50, 20)
  map.remove(['device-999'])
  expect(inBox([19, 9, 21, 11])).toEqual([])
})
