import { forEachPartInSlices } from '#core/slices'
import { completedSignals } from '#fleet-map/live/completed-signals'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { clockAheadMs } from '#fleet-map/window'
import {
  type DeviceRow,
  type FleetRange,
  fleetConnected,
  fleetPositions,
  fleetServed,
  type PositionRow,
  type SignalRow,
} from '#questdb/fleet/fleet-gps'
import type { QuestdbSql } from '#questdb/server/sql'
import { connectedWithinMs } from '#telemetry/rows/active-modem'

export type NewestRows = { positions: DeviceRow<PositionRow>[]; signals: DeviceRow<SignalRow>[] }

const rowsAtOnce = 500
const maxIdsAtOnce = 500
const maxIds = 4 * maxIdsAtOnce

/** Applies each device's newest fix and signal in the range to the map, and returns them. */
export async function readNewest(questdb: QuestdbSql, map: OrganizationMap, range: FleetRange): Promise<NewestRows> {
  const read = {
    positions: () => fleetPositions(questdb, map.organizationId, range),
    signals: () => completedSignals(questdb, map, range),
    // Only who was connected in the last minutes counts.
    connected: () =>
      fleetConnected(questdb, map.organizationId, {
        ...range,
        fromMs: Math.max(range.fromMs, range.toMs - clockAheadMs - connectedWithinMs),
      }),
  }
  // A whole window has rows of all devices: two such statements would compete for the same cores, and each has a time limit.
  const isWindow = range.receivedSinceMs === undefined && range.deviceIds === undefined
  const [positions, signals, connected] = isWindow
    ? [await read.positions(), await read.signals(), await read.connected()]
    : await Promise.all([read.positions(), read.signals(), read.connected()])
  // A window of a large fleet would hold up all other requests for seconds.
  await forEachPartInSlices(positions, rowsAtOnce, map.applyLocations)
  await forEachPartInSlices(signals, rowsAtOnce, map.applySignals)
  await forEachPartInSlices(connected, rowsAtOnce, map.applyConnected)
  if (range.receivedSinceMs === undefined) await readServed(questdb, map, signals, range)
  return { positions, signals }
}

/** Reads when modems last had service, of those that the map does not know with service. */
async function readServed(
  questdb: QuestdbSql,
  map: OrganizationMap,
  signals: readonly DeviceRow<SignalRow>[],
  range: FleetRange,
): Promise<void> {
  const without = signals.filter(({ state }) => state.rat === 'none' && state.modem !== null)
  const deviceIds = [...new Set(without.map(({ deviceId }) => deviceId))]
  for (const part of inParts(deviceIds.slice(0, maxIds)))
    map.applyServed(await fleetServed(questdb, map.organizationId, { ...range, deviceIds: part }))
}

/** `readNewest` for these devices; for all devices of the map if they are too many. Returns whether any has a fix. */
export async function readNewestOf(
  questdb: QuestdbSql,
  map: OrganizationMap,
  deviceIds: readonly string[],
  range: FleetRange,
): Promise<boolean> {
  let areLocated = false
  for (const part of deviceIds.length > maxIds ? [undefined] : inParts(deviceIds)) {
    const { positions } = await readNewest(questdb, map, part ? { ...range, deviceIds: part } : range)
    areLocated ||= positions.length > 0
  }
  return areLocated
}

/**
 * A new fix can realign an earlier signal, which keeps its arrival time. Reads the signals again for fixes that are
 * newer than the known signal, and with `withLate` also for late fixes that are older.
 */
export async function readRealigned(
  questdb: QuestdbSql,
  map: OrganizationMap,
  { positions, signals }: NewestRows,
  { withLate, ...range }: FleetRange & { withLate: boolean },
): Promise<void> {
  const isFresh = new Set(signals.map(({ deviceId }) => deviceId))
  const newer: string[] = []
  const late: string[] = []
  for (const { deviceId, state } of positions) {
    const measuredAtMs = map.device(deviceId)?.measuredAtMs ?? null
    if (measuredAtMs === null) continue
    if (state.tsMs > measuredAtMs) newer.push(deviceId)
    else if (withLate && !isFresh.has(deviceId)) late.push(deviceId)
  }
  for (const deviceIds of inParts([...newer, ...late].slice(0, maxIds))) {
    map.applySignals(await completedSignals(questdb, map, { ...range, deviceIds }))
  }
}

function inParts(deviceIds: readonly string[]): string[][] {
  const parts: string[][] = []
  for (let start = 0; start < deviceIds.length; start += maxIdsAtOnce) {
    parts.push(deviceIds.slice(start, start + maxIdsAtOnce))
  }
  return parts
}
