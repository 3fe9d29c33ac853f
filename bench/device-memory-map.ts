import { createOrganizationMap, type OrganizationMap } from '#fleet-map/live/organization-map'
import { registryEntries } from '#fleet-map/live/registry'
import { createRevisions } from '#fleet-map/revisions'
import { createDeviceIndex } from '#fleet-map/tiles/device-index'
import { ongoingDwells } from '#questdb/fleet/dwells'
import { fleetPositions, fleetSignals } from '#questdb/fleet/fleet-gps'
import type { QuestdbSql } from '#questdb/server/sql'
import type { FilledPart } from './device-memory-filled.ts'

const intervalMs = 5 * 60_000
const startMs = Date.UTC(2026, 10, 1)
const devicesAtOnce = 1_000
const organizationId = '0199a000-0000-7000-8000-000000000001'

/** A live map with a position, a signal and a dwell of each device. */
export async function fillLiveMap(devices: number, reports: number): Promise<FilledPart> {
  const map = await filledMap(devices, reports)
  return { keep: () => map.size() }
}

/** A tile index, without the map that it reads. */
export async function fillTileIndex(devices: number, reports: number): Promise<FilledPart> {
  const map = await filledMap(devices, reports)
  const index = createDeviceIndex([{ map, windowMs: 86_400_000 }], {})
  await index.points(startMs + reports * intervalMs)
  await index.cells(8, startMs + reports * intervalMs)
  return { keep: () => index.bytes() }
}

async function filledMap(devices: number, reports: number): Promise<OrganizationMap> {
  const map = createOrganizationMap(organizationId, createRevisions())
  for (let first = 0; first < devices; first += devicesAtOnce) {
    const some = Array.from({ length: Math.min(devicesAtOnce, devices - first) }, (_, index) => first + index)
    map.applyRegistry(
      await registryEntries({ query: async () => ({ rows: some.map(registered) }) } as never, organizationId),
    )
    for (let report = 0; report < reports; report++) {
      const tsMs = startMs + report * intervalMs
      const range = { fromMs: tsMs, toMs: tsMs + 1 }
      map.applyLocations(
        await fleetPositions(answering(some.map((device) => positionOf(device, tsMs))), organizationId, range),
      )
      map.applySignals(
        await fleetSignals(answering(some.map((device) => signalOf(device, tsMs))), organizationId, range),
      )
    }
  }
  const dwells = answering(Array.from({ length: devices }, (_, device) => dwellOf(device)))
  map.replaceDwells(await ongoingDwells(dwells, organizationId, startMs))
  return map
}

/** A database that returns these rows, with strings of their own. */
const answering = (rows: unknown[][]): QuestdbSql => ({
  query: async () => [],
  queryArrays: async <Row extends unknown[]>() => rows.map((row) => row.map(received)) as Row[],
  end: async () => {},
})

const received = (value: unknown): unknown => (typeof value === 'string' ? Buffer.from(value).toString() : value)

const idOf = (device: number): string => `0199a000-0000-7000-8000-${device.toString(16).padStart(12, '0')}`
const latOf = (device: number): number => 48 + (device % 1_000) * 0.004 + 1e-7
const lonOf = (device: number): number => 6 + Math.floor(device / 1_000) * 0.005

const registered = (device: number) => ({
  id: received(idOf(device)),
  name: received(`Vehicle ${device}`),
  status: received('online'),
  tags: ['bus', `depot-${device % 20}`].map(received),
  owned_from: null,
})

const positionOf = (device: number, tsMs: number) => [
  ...[idOf(device), tsMs, latOf(device), lonOf(device), '3d', 4.5, 13.9, device % 360],
]

const signalOf = (device: number, tsMs: number) => [
  ...[
    idOf(device),
    tsMs,
    null,
    'lte',
    '27201',
    'Operator A',
    -80 - (device % 40),
    -9.5,
    (device % 25) + 0.5,
    null,
    null,
  ],
  ...['interpolated', 8.25, latOf(device), lonOf(device)],
]

const dwellOf = (device: number) => [idOf(device), startMs, latOf(device), lonOf(device), 12.25]
