import { isSliceOver, nextSlice } from '#core/slices'
import { type DeviceTable, type PlacedDevice, unitsPerDegree } from '#fleet-map/tiles/device-table'
import type { BoundingBox } from '#telemetry/geo/geo'
import { createLongitudeStripes } from '#telemetry/geo/longitude-stripes'

/** What a map must know of all devices of an index before it draws the first tile. */
export type FleetOverview = {
  /** Devices with a position. */
  devices: number
  /** west, south, east, north of all positions, at most a minute old; west > east across the antimeridian. Null without devices. */
  bounds: BoundingBox | null
  /** Operators of the last signals of all modems since the index exists, at most 200. */
  operators: { plmn: string; name: string }[]
}

export type OverviewKeeper = {
  /** Notes the change of a device. */
  change(before: PlacedDevice | undefined, after: PlacedDevice | undefined): void
  /** Notes the operator of a modem's last signal. */
  operator(plmn: string, name: string | null): void
  read(table: DeviceTable, nowMs: number): Promise<FleetOverview>
}

const maxOperators = 200
/** The box is made anew after a time that grows with the devices, so that it costs little: 50 s for a million devices. */
const msPerDevice = 1 / 20
const devicesPerCheck = 4_096

/** Keeps the overview of an index that has no devices yet. */
export function createOverview(): OverviewKeeper {
  const operators = new Map<string, string>()
  let devices = 0
  let box: { bounds: BoundingBox | null; readMs: number } | undefined
  return {
    change(before, after) {
      devices += (after ? 1 : 0) - (before ? 1 : 0)
    },
    operator(plmn, name) {
      if (operators.has(plmn) || operators.size < maxOperators) operators.set(plmn, name ?? operators.get(plmn) ?? plmn)
    },
    async read(table, nowMs) {
      if (!box?.bounds || nowMs - box.readMs >= devices * msPerDevice) {
        box = { bounds: await boundsOf(table), readMs: nowMs }
      }
      return {
        devices,
        bounds: devices > 0 ? box.bounds : null,
        operators: [...operators].map(([plmn, name]) => ({ plmn, name })),
      }
    },
  }
}

async function boundsOf(table: DeviceTable): Promise<BoundingBox | null> {
  const rows = table.rows()
  const longitudes = createLongitudeStripes()
  let [south, north] = [Infinity, -Infinity]
  for (let row = 0; row < rows; row++) {
    if (row % devicesPerCheck === 0 && isSliceOver()) await nextSlice()
    const device = table.placed(row)
    if (!device) continue
    longitudes.add(device.lonE7 / unitsPerDegree)
    south = Math.min(south, device.latE7)
    north = Math.max(north, device.latE7)
  }
  const span = longitudes.span()
  return span ? [span[0], south / unitsPerDegree, span[1], north / unitsPerDegree] : null
}
