import { cellToParent, gridDisk, latLngToCell } from 'h3-js'
import { newId } from '#core/ids'
import { createOrganizationMap, type OrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'
import type { DatedCoverageCell } from '#questdb/votes/coverage-cells'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'
import { qualities } from '#telemetry/coverage/quality'
import { place } from './places.ts'

export type MapSize = { devices: number; cells: number }

const organizationId = '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f'
const chunk = 10_000
/** Devices report every minute, and move every five seconds. */
const shareMoved = 1 / 12
const cellResolution = 6

/** Returns the live map of this many devices, as the service has it. */
export function generatedFleet(devices: number): OrganizationMap {
  const map = createOrganizationMap(organizationId, createRevisions())
  for (let start = 0; start < devices; start += chunk) {
    const numbers = Array.from({ length: Math.min(chunk, devices - start) }, (_, offset) => start + offset)
    const entries = numbers.map((number) => ({
      ...{ deviceId: newId(), organizationId, name: `Truck ${number}`, status: 'online', tags: [], ownedFromMs: null },
    }))
    map.applyRegistry(entries)
    map.applyLocations(entries.map(({ deviceId }, offset) => ({ deviceId, state: fix(start + offset, Date.now()) })))
    map.applySignals(entries.map(({ deviceId }, offset) => ({ deviceId, state: radio(start + offset, Date.now()) })))
  }
  return map
}

/** Moves a twelfth of the devices by about 100 m. */
export function moveSome(map: OrganizationMap): void {
  const tsMs = Date.now()
  const step = Math.round(1 / shareMoved)
  const first = Math.floor(Math.random() * step)
  const moved: Parameters<OrganizationMap['applyLocations']>[0][number][] = []
  for (let ordinal = first; ordinal < map.size(); ordinal += step) {
    const device = map.deviceAt(ordinal)
    if (!device?.location) continue
    const { lat, lon } = device.location
    moved.push({ deviceId: device.entry.deviceId, state: { ...fix(ordinal, tsMs), lat: lat + 0.001, lon } })
  }
  map.applyLocations(moved)
}

const fix = (number: number, tsMs: number) => ({
  ...{ tsMs, ts: new Date(tsMs).toISOString(), ...place(number), fix: '3d', accuracyM: 5 },
  ...{ speedMps: number % 25, headingDeg: number % 360 },
})

const radio = (number: number, tsMs: number) => ({
  ...{
    tsMs,
    ts: new Date(tsMs).toISOString(),
    modem: null,
    rat: 'lte',
    plmn: `2620${1 + (number % 3)}`,
    operatorName: null,
  },
  ...{ rsrpDbm: -70 - (number % 55), rsrqDb: null, sinrDb: null, nrRsrpDbm: null, qualityBasis: 'rsrpDbm' },
  ...{ quality: qualities[number % qualities.length] ?? null, alignment: 'interpolated', alignErrorM: null },
  ...{ lat: null, lon: null, completedFromMs: null },
})

type Cells = { item: DatedCoverageCell; isGone: boolean }[]
const cellLists = new Map<string, Cells>()

/** Returns this number of adjacent cells of resolution 6 around the middle of Europe, or their parents at a lower zoom. */
export function cellsFor(wanted: number, zoom: number): Cells {
  const resolution = Math.min(cellResolution, resolutionForZoom(zoom))
  const key = `${wanted} ${resolution}`
  const known = cellLists.get(key)
  if (known) return known
  const disk = gridDisk(latLngToCell(49, 10, cellResolution), Math.ceil(Math.sqrt(wanted / 3))).slice(0, wanted)
  const made = [...new Set(disk.map((h3) => cellToParent(h3, resolution)))].map((h3, index) => ({
    item: cell(h3, index),
    isGone: false,
  }))
  cellLists.set(key, made)
  return made
}

const cell = (h3: string, index: number): DatedCoverageCell => ({
  h3,
  samples: 20 + (index % 400),
  devices: 1 + (index % 7),
  serviceRatio: index % 50 === 0 ? 0 : 1 - (index % 20) / 100,
  rsrpDbm: { p10: -110, p50: -70 - (index % 55), p90: -65 },
  sinrDb: { p10: -3, p50: (index % 30) - 5 },
  quality: qualities[index % qualities.length] ?? null,
  confidence: index % 3 === 0 ? 'low' : 'high',
  byRat: {},
  byPlmn: {},
  lastAt: new Date().toISOString(),
})
