import { type Quality, qualities } from '#telemetry/coverage/quality'

/** What the tiles need of a device with a position. Degrees are in units of 1e-7, so that sums of them are exact. */
export type PlacedDevice = { latE7: number; lonE7: number; status: StatusClass; quality: QualityClass }

/** 0: online, 1: offline, 2: another status. */
type StatusClass = 0 | 1 | 2
/** An index in `qualities`, worst first; 5: unknown. */
type QualityClass = number

export const unknownQuality: QualityClass = qualities.length
export const unitsPerDegree = 1e7

export function placedDevice(
  { lat, lon }: { lat: number; lon: number },
  status: string,
  quality: string | null | undefined,
): PlacedDevice {
  const rank = qualities.indexOf(quality as Quality)
  return {
    latE7: Math.round(lat * unitsPerDegree),
    lonE7: Math.round(lon * unitsPerDegree),
    status: status === 'online' ? 0 : status === 'offline' ? 1 : 2,
    quality: rank < 0 ? unknownQuality : rank,
  }
}

/** The name of a quality class; undefined if it is unknown. */
export const qualityNamed = (quality: QualityClass): Quality | undefined => qualities[quality]

/** A device of the live maps: which map, and its ordinal there. */
export type DeviceReference = { map: number; ordinal: number }

/** The devices of an index with a position, by row. A row takes 19 bytes. */
export type DeviceTable = {
  /** The row of a device, reserved at the first call. */
  rowOf(map: number, ordinal: number): number
  /** The row of a device; undefined if none was reserved. */
  knownRow(map: number, ordinal: number): number | undefined
  deviceOf(row: number): DeviceReference
  /** Rows are numbered from 0. Some have no placed device. */
  rows(): number
  placed(row: number): PlacedDevice | undefined
  place(row: number, device: PlacedDevice | undefined): void
  bytes(): number
}

const isPlaced = 0x80
const qualityBits = 3

/** An empty table for devices of `maps` live maps. */
export function createDeviceTable(maps: number): DeviceTable {
  /** By map and ordinal: the row plus one; 0 if none. */
  const rowsOf = Array.from({ length: maps }, () => new Int32Array(0))
  let columns = tableColumns(1_024)
  let rows = 0

  const knownRow = (map: number, ordinal: number): number | undefined => {
    const row = (rowsOf[map]?.[ordinal] ?? 0) - 1
    return row < 0 ? undefined : row
  }
  const reserve = (map: number, ordinal: number): number => {
    let rowsOfMap = rowsOf[map] ?? new Int32Array(0)
    if (ordinal >= rowsOfMap.length) {
      const longer = new Int32Array(Math.max(1_024, 2 * ordinal))
      longer.set(rowsOfMap)
      rowsOfMap = longer
      rowsOf[map] = longer
    }
    if (rows >= columns.traits.length) columns = tableColumns(2 * rows, columns)
    rowsOfMap[ordinal] = rows + 1
    columns.maps[rows] = map
    columns.ordinals[rows] = ordinal
    return rows++
  }

  return {
    knownRow,
    rowOf: (map, ordinal) => knownRow(map, ordinal) ?? reserve(map, ordinal),
    deviceOf: (row) => ({ map: columns.maps[row] ?? 0, ordinal: columns.ordinals[row] ?? 0 }),
    rows: () => rows,
    placed(row) {
      const traits = columns.traits[row] ?? 0
      if ((traits & isPlaced) === 0) return undefined
      return {
        latE7: columns.latE7[row] ?? 0,
        lonE7: columns.lonE7[row] ?? 0,
        status: ((traits & ~isPlaced) >> qualityBits) as StatusClass,
        quality: traits & ((1 << qualityBits) - 1),
      }
    },
    place(row, device) {
      columns.traits[row] = device ? isPlaced | (device.status << qualityBits) | device.quality : 0
      if (!device) return
      columns.latE7[row] = device.latE7
      columns.lonE7[row] = device.lonE7
    },
    bytes: () =>
      Object.values(columns).reduce((sum, { byteLength }) => sum + byteLength, 0) +
      rowsOf.reduce((sum, { byteLength }) => sum + byteLength, 0),
  }
}

type Columns = {
  maps: Uint16Array
  ordinals: Int32Array
  latE7: Int32Array
  lonE7: Int32Array
  traits: Uint8Array
}

/** Columns with this capacity, filled from shorter ones. */
function tableColumns(capacity: number, from?: Columns): Columns {
  const columns = {
    maps: new Uint16Array(capacity),
    ordinals: new Int32Array(capacity),
    latE7: new Int32Array(capacity),
    lonE7: new Int32Array(capacity),
    traits: new Uint8Array(capacity),
  }
  if (from) {
    columns.maps.set(from.maps)
    columns.ordinals.set(from.ordinals)
    columns.latE7.set(from.latE7)
    columns.lonE7.set(from.lonE7)
    columns.traits.set(from.traits)
  }
  return columns
}
