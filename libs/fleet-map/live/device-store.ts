import { createSharedWords, type SharedWords } from '#core/shared-words'
import { createDeviceRows, type DeviceRows } from '#fleet-map/live/device-rows'
import type { MapDeviceState, RegistryEntry } from '#fleet-map/live/device-state'
import { MappedDevice } from '#fleet-map/live/mapped-device'
import { createPositionColumns, type PositionColumns } from '#fleet-map/live/position-columns'
import { createRecentDevices, type RecentDevices } from '#fleet-map/live/recent-devices'
import type { BoundingBox } from '#telemetry/geo/geo'

/** How readers find the devices of a map. */
export type DeviceReads = {
  /** Devices in the order in which they were added. */
  devices(): IterableIterator<MapDeviceState>
  /** The devices whose last position is in a box, in the same order. */
  devicesWithin(box: BoundingBox): Iterable<MapDeviceState>
  device(deviceId: string): MapDeviceState | undefined
  /** The device with this ordinal; undefined after it was removed. */
  deviceAt(ordinal: number): MapDeviceState | undefined
  size(): number
  /**
   * The devices that changed after `revision`, and those with a position or signal from a period. Sorted by ordinal. Visits
   * few other devices.
   */
  changedSince(revision: number, heard?: { fromMs: number; toMs: number }): MapDeviceState[]
  /**
   * Calls `onChange` with the ordinal of each device that is added, changed or removed from now on. Returns a function
   * that ends this.
   */
  watch(onChange: (ordinal: number) => void): () => void
}

/** The devices of a map, their telemetry, and the indexes in which they are found. */
export type DeviceStore = {
  reads: DeviceReads
  words: SharedWords
  rows: DeviceRows
  positions: PositionColumns
  recent: RecentDevices
  /** Devices with an ongoing dwell. */
  dwelling: Set<MappedDevice>
  find(deviceId: string): MappedDevice | undefined
  /** Adds a device, which then must be touched. */
  add(entry: RegistryEntry, revision: number): MappedDevice
  /** Notes that a device changed. */
  touch(device: MappedDevice, revision: number): void
  remove(device: MappedDevice): void
}

export function createDeviceStore(): DeviceStore {
  const byId = new Map<string, MappedDevice>()
  const byOrdinal: (MappedDevice | undefined)[] = []
  const watchers = new Set<(ordinal: number) => void>()
  const words = createSharedWords()
  const rows = createDeviceRows(words)
  const positions = createPositionColumns()
  const recent = createRecentDevices()
  const dwelling = new Set<MappedDevice>()

  const announce = ({ ordinal }: MappedDevice): void => {
    for (const onChange of watchers) onChange(ordinal)
  }
  const reads: DeviceReads = {
    devices: () => byId.values(),
    *devicesWithin(box) {
      for (const ordinal of positions.within(box)) {
        const device = byOrdinal[ordinal]
        if (device) yield device
      }
    },
    device: (deviceId) => byId.get(deviceId),
    deviceAt: (ordinal) => byOrdinal[ordinal],
    size: () => byId.size,
    changedSince: (revision, heard) =>
      recent
        .since((ordinal) => (byOrdinal[ordinal]?.revision ?? 0) > revision, heard)
        .flatMap((ordinal) => byOrdinal[ordinal] ?? []),
    watch(onChange) {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
  }
  return {
    ...{ reads, words, rows, positions, recent, dwelling },
    find: (deviceId) => byId.get(deviceId),
    add(entry, revision) {
      const device = new MappedDevice(rows, byOrdinal.length, entry, revision)
      byOrdinal.push(device)
      byId.set(entry.deviceId, device)
      return device
    },
    touch(device, revision) {
      device.revision = revision
      recent.changed(device.ordinal)
      announce(device)
    },
    remove(device) {
      const { ordinal, entry } = device
      byId.delete(entry.deviceId)
      byOrdinal[ordinal] = undefined
      recent.remove(ordinal)
      for (const pages of Object.values(rows)) pages.remove(ordinal)
      positions.remove(ordinal)
      dwelling.delete(device)
      announce(device)
    },
  }
}
