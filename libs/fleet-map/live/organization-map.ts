import { createSharedWords } from '#core/shared-words'
import { createBuckets } from '#fleet-map/live/buckets'
import { createChangeOrder } from '#fleet-map/live/change-order'
import { createDeviceRows } from '#fleet-map/live/device-rows'
import type { DeviceState, RegistryEntry } from '#fleet-map/live/device-state'
import { MappedDevice } from '#fleet-map/live/mapped-device'
import { createPositionColumns } from '#fleet-map/live/position-columns'
import type { RowPages } from '#fleet-map/live/row-pages'
import type { Revisions } from '#fleet-map/revisions'
import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'
import type { BoundingBox } from '#telemetry/geo/geo'

type Located<State> = { deviceId: string; state: State }

/** The live state of an organization's devices. Each change has a revision. */
export type OrganizationMap = {
  readonly organizationId: string
  /** Devices in the order in which they were added. */
  devices(): IterableIterator<DeviceState>
  /** The devices whose last position is in a box, in the same order. */
  devicesWithin(box: BoundingBox): Iterable<DeviceState>
  device(deviceId: string): DeviceState | undefined
  /** The device with this ordinal; undefined after it was removed. */
  deviceAt(ordinal: number): DeviceState | undefined
  size(): number
  /** The revision of the last change. */
  changedAt(): number
  /**
   * The devices that changed after `revision`, and those with a position or signal from a period. Sorted by ordinal. Visits
   * few other devices.
   */
  newsSince(revision: number, heard?: { fromMs: number; toMs: number }): DeviceState[]
  /** Devices that were removed after `revision`. */
  goneSince(revision: number): string[]
  /** Removed devices are known from this revision on. */
  knownSince(): number
  /**
   * Calls `onChange` with the ordinal of each device that is added, changed or removed from now on. Returns a function
   * that ends this.
   */
  watch(onChange: (ordinal: number) => void): () => void
  applyRegistry(entries: readonly RegistryEntry[]): void
  /** Removes devices that were deleted or transferred. */
  remove(deviceIds: readonly string[]): void
  applyLocations(rows: readonly Located<PositionRow>[]): void
  applySignals(rows: readonly Located<SignalRow>[]): void
  /** The complete list of ongoing dwells. */
  replaceDwells(rows: readonly Located<OngoingDwellRow>[]): void
}

const maxDepartures = 20_000
const minuteMs = 60_000

/** An empty map. It ignores telemetry of unregistered devices and telemetry from before the current ownership. */
export function createOrganizationMap(organizationId: string, revisions: Revisions): OrganizationMap {
  const devices = new Map<string, MappedDevice>()
  const byOrdinal: (MappedDevice | undefined)[] = []
  const watchers = new Set<(ordinal: number) => void>()
  const shared = createSharedWords()
  const changes = createChangeOrder()
  const rowsOf = createDeviceRows(shared)
  const positions = createPositionColumns()
  /** Positions (twice the ordinal) and signals (one more) by the minute of their time. */
  const heardIn = createBuckets()
  /** Ordinals of devices with an ongoing dwell. */
  const dwelling = new Set<number>()
  let departures: { deviceId: string; revision: number }[] = []
  let knownSince = revisions.current()
  let changedAt = revisions.current()

  /** Applies a set of changes. Starts a new revision only if something changed. */
  const round = (change: (revision: number) => boolean): void => {
    if (change(revisions.current() + 1)) changedAt = revisions.next()
  }

  const announce = ({ ordinal }: MappedDevice): void => {
    for (const onChange of watchers) onChange(ordinal)
  }
  const add = (entry: RegistryEntry, revision: number): void => {
    const device = new MappedDevice(rowsOf, byOrdinal.length, entry, revision)
    byOrdinal.push(device)
    devices.set(entry.deviceId, device)
    changes.touch(device.ordinal)
    announce(device)
  }
  const touch = (device: MappedDevice, revision: number): void => {
    device.revision = revision
    changes.touch(device.ordinal)
    announce(device)
  }
  /** Returns whether the map had the device. */
  const drop = (deviceId: string): boolean => {
    const device = devices.get(deviceId)
    if (!device) return false
    devices.delete(deviceId)
    const { ordinal } = device
    byOrdinal[ordinal] = undefined
    changes.remove(ordinal)
    for (const rows of Object.values(rowsOf)) rows.remove(ordinal)
    positions.remove(ordinal)
    for (const item of [2 * ordinal, 2 * ordinal + 1]) heardIn.remove(item)
    dwelling.delete(ordinal)
    announce(device)
    return true
  }

  const applyNewest = <State extends { tsMs: number }>(
    received: readonly Located<State>[],
    rows: RowPages<State>,
    knownAtMs: (device: MappedDevice) => number | null,
    index: (ordinal: number, state: State) => void,
  ): void =>
    round((next) => {
      let changed = false
      for (const { deviceId, state } of received) {
        const device = devices.get(deviceId)
        if (!device || state.tsMs < (device.entry.ownedFromMs ?? 0)) continue
        const { ordinal } = device
        if ((knownAtMs(device) ?? Number.NEGATIVE_INFINITY) > state.tsMs || rows.isSame(ordinal, state)) continue
        rows.write(ordinal, state)
        index(ordinal, state)
        touch(device, next)
        changed = true
      }
      return changed
    })

  return {
    organizationId,
    devices: () => devices.values(),
    *devicesWithin(box) {
      for (const ordinal of positions.within(box)) {
        const device = byOrdinal[ordinal]
        if (device) yield device
      }
    },
    device: (deviceId) => devices.get(deviceId),
    deviceAt: (ordinal) => byOrdinal[ordinal],
    size: () => devices.size,
    changedAt: () => changedAt,
    knownSince: () => knownSince,
    watch(onChange) {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    newsSince(revision, heard) {
      const news = new Set<DeviceState>()
      changes.fromNewest((ordinal) => {
        const device = byOrdinal[ordinal]
        const isNews = device !== undefined && device.revision > revision
        if (isNews) news.add(device)
        return isNews
      })
      const lastMinute = heard ? minuteOf(heard.toMs) : -1
      for (let minute = minuteOf(heard?.fromMs ?? 0); minute <= lastMinute; minute++) {
        heardIn.forEach(minute, (item) => {
          const device = byOrdinal[item >> 1]
          if (device) news.add(device)
        })
      }
      return [...news].sort((a, b) => a.ordinal - b.ordinal)
    },
    goneSince: (since) =>
      departures.filter((departure) => departure.revision > since).map((departure) => departure.deviceId),
    applyRegistry: (entries) =>
      round((next) => {
        let changed = false
        for (const received of entries) {
          const known = devices.get(received.deviceId)
          if (known && sameEntry(known.entry, received)) continue
          const entry = { ...received, status: shared.word(received.status), tags: shared.list(received.tags) }
          if (known) touch(Object.assign(known, { entry }), next)
          else add(entry, next)
          changed = true
        }
        return changed
      }),
    remove: (deviceIds) =>
      round((next) => {
        const left = deviceIds.filter(drop)
        for (const deviceId of left) departures.push({ deviceId, revision: next })
        if (departures.length > maxDepartures) {
          departures = departures.slice(-maxDepartures)
          knownSince = departures[0]?.revision ?? next
        }
        return left.length > 0
      }),
    applyLocations: (rows) =>
      applyNewest(
        rows,
        rowsOf.locations,
        (device) => device.locatedAtMs,
        (ordinal, location) => {
          positions.set(ordinal, location)
          heardIn.place(2 * ordinal, minuteOf(location.tsMs))
        },
      ),
    applySignals: (rows) =>
      applyNewest(
        rows,
        rowsOf.signals,
        (device) => device.measuredAtMs,
        (ordinal, signal) => heardIn.place(2 * ordinal + 1, minuteOf(signal.tsMs)),
      ),
    replaceDwells: (rows) =>
      round((next) => {
        const ongoing = new Map(rows.map(({ deviceId, state }) => [deviceId, state]))
        const concerned = new Set([...dwelling].flatMap((ordinal) => byOrdinal[ordinal] ?? []))
        for (const { deviceId } of rows) {
          const device = devices.get(deviceId)
          if (device) concerned.add(device)
        }
        let changed = false
        for (const device of concerned) {
          const { ordinal } = device
          const found = ongoing.get(device.entry.deviceId)
          const dwell = found && found.arrivedAtMs >= (device.entry.ownedFromMs ?? 0) ? found : undefined
          if (dwell ? rowsOf.dwells.isSame(ordinal, dwell) : !rowsOf.dwells.has(ordinal)) continue
          if (dwell) {
            rowsOf.dwells.write(ordinal, dwell)
            dwelling.add(ordinal)
          } else {
            rowsOf.dwells.remove(ordinal)
            dwelling.delete(ordinal)
          }
          touch(device, next)
          changed = true
        }
        return changed
      }),
  }
}

const minuteOf = (ms: number): number => Math.max(0, Math.floor(ms / minuteMs))

const sameEntry = (a: RegistryEntry, b: RegistryEntry): boolean =>
  a.name === b.name &&
  a.status === b.status &&
  a.ownedFromMs === b.ownedFromMs &&
  a.tags.length === b.tags.length &&
  a.tags.every((tag, index) => tag === b.tags[index])
