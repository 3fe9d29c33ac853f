import {
  type Located,
  locate,
  measure,
  register,
  setDwell,
  showIfOther,
  takeModemTime,
} from '#fleet-map/live/device-changes'
import type { RegistryEntry } from '#fleet-map/live/device-state'
import { createDeviceStore, type DeviceReads } from '#fleet-map/live/device-store'
import type { Revisions } from '#fleet-map/revisions'
import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { ModemTime, PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'

/** The live state of an organization's devices. Each change has a revision. */
export type OrganizationMap = DeviceReads & {
  readonly organizationId: string
  /** The revision of the last change. */
  changedAt(): number
  /** Devices that were removed after `revision`. */
  goneSince(revision: number): string[]
  /** Removed devices are known from this revision on. */
  knownSince(): number
  applyRegistry(entries: readonly RegistryEntry[]): void
  /** Removes devices that were deleted or transferred. */
  remove(deviceIds: readonly string[]): void
  applyLocations(rows: readonly Located<PositionRow>[]): void
  applySignals(rows: readonly Located<SignalRow>[]): void
  /** When modems were connected. */
  applyConnected(rows: readonly Located<ModemTime>[]): void
  /** When modems last had service. */
  applyServed(rows: readonly Located<ModemTime>[]): void
  /** Connections that are older than 15 minutes at `nowMs` make no modem active any more. */
  expireConnections(nowMs: number): void
  /** The complete list of ongoing dwells. */
  replaceDwells(rows: readonly Located<OngoingDwellRow>[]): void
}

const maxDepartures = 20_000

/** An empty map. It ignores telemetry of unregistered devices and telemetry from before the current ownership. */
export function createOrganizationMap(organizationId: string, revisions: Revisions): OrganizationMap {
  const store = createDeviceStore()
  let departures: { deviceId: string; revision: number }[] = []
  let knownSince = revisions.current()
  let changedAt = revisions.current()

  /** Applies changes. They get a new revision if one of them returns that anything differs. */
  const applyAll = <Item>(items: Iterable<Item>, apply: (item: Item, revision: number) => boolean): void => {
    const revision = revisions.current() + 1
    let isChanged = false
    for (const item of items) if (apply(item, revision)) isChanged = true
    if (isChanged) changedAt = revisions.next()
  }

  return {
    ...store.reads,
    organizationId,
    changedAt: () => changedAt,
    knownSince: () => knownSince,
    goneSince: (since) => departures.flatMap(({ deviceId, revision }) => (revision > since ? [deviceId] : [])),
    applyRegistry: (entries) => applyAll(entries, (entry, revision) => register(store, entry, revision)),
    remove(deviceIds) {
      applyAll(deviceIds, (deviceId, revision) => {
        const device = store.find(deviceId)
        if (!device) return false
        store.remove(device)
        departures.push({ deviceId, revision })
        return true
      })
      if (departures.length <= maxDepartures) return
      departures = departures.slice(-maxDepartures)
      knownSince = departures[0]?.revision ?? changedAt
    },
    applyLocations: (rows) => applyAll(rows, (row, revision) => locate(store, row, revision)),
    applySignals: (rows) => applyAll(rows, (row, revision) => measure(store, row, revision)),
    applyConnected: (rows) => applyAll(rows, (row, revision) => takeModemTime(store, row, 'connect', revision)),
    applyServed: (rows) => applyAll(rows, (row, revision) => takeModemTime(store, row, 'serve', revision)),
    expireConnections(nowMs) {
      applyAll(store.rows.modems.expire(nowMs), (ordinal, revision) => {
        const device = store.find(store.reads.deviceAt(ordinal)?.entry.deviceId ?? '')
        return device !== undefined && showIfOther(store, device, revision)
      })
    },
    replaceDwells(rows) {
      const ongoing = new Map(rows.map(({ deviceId, state }) => [deviceId, state]))
      const concerned = new Set([...store.dwelling, ...rows.flatMap(({ deviceId }) => store.find(deviceId) ?? [])])
      applyAll(concerned, (device, revision) => setDwell(store, device, ongoing.get(device.entry.deviceId), revision))
    },
  }
}
