import type { RegistryEntry } from '#fleet-map/live/device-state'
import type { DeviceStore } from '#fleet-map/live/device-store'
import type { MappedDevice } from '#fleet-map/live/mapped-device'
import type { RowPages } from '#fleet-map/live/row-pages'
import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { ModemTime, PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'

// Each function applies one change of a device, and returns whether anything differs.

/** The newest telemetry of a device. */
export type Located<State> = { deviceId: string; state: State }

export function register(store: DeviceStore, received: RegistryEntry, revision: number): boolean {
  const known = store.find(received.deviceId)
  if (known && sameEntry(known.entry, received)) return false
  const { words } = store
  const entry = { ...received, status: words.word(received.status), tags: words.list(received.tags) }
  store.touch(known ? Object.assign(known, { entry }) : store.add(entry, revision), revision)
  return true
}

export function locate(store: DeviceStore, row: Located<PositionRow>, revision: number): boolean {
  const device = writeNewest(store, store.rows.locations, row, ({ locatedAtMs }) => locatedAtMs)
  if (!device) return false
  store.positions.set(device.ordinal, row.state)
  store.recent.located(device.ordinal, row.state.tsMs)
  store.touch(device, revision)
  return true
}

export function measure(store: DeviceStore, row: Located<SignalRow>, revision: number): boolean {
  const named = store.find(row.deviceId)
  if (named && (row.state.modem !== null || store.rows.modems.has(named.ordinal)))
    return measureModem(store, named, row.state, revision)
  const device = writeNewest(store, store.rows.signals, row, ({ measuredAtMs }) => measuredAtMs)
  if (!device) return false
  store.recent.measured(device.ordinal, row.state.tsMs)
  store.touch(device, revision)
  return true
}

/** Takes a signal of a device that names its modems. */
function measureModem(store: DeviceStore, device: MappedDevice, state: SignalRow, revision: number): boolean {
  const { modems } = store.rows
  const { ordinal, entry } = device
  if (state.tsMs < (entry.ownedFromMs ?? 0)) return false
  keepUnnamed(store, device)
  return modems.measure(ordinal, state) && showActive(store, device, revision)
}

/** The signal of a device that did not name its modem until now. */
function keepUnnamed({ rows: { modems, signals } }: DeviceStore, { ordinal }: MappedDevice): void {
  const unnamed = modems.has(ordinal) ? null : signals.read(ordinal)
  if (unnamed) modems.measure(ordinal, unnamed)
}

/** Takes the time at which a modem was connected, or had service. */
export function takeModemTime(
  store: DeviceStore,
  { deviceId, state }: Located<ModemTime>,
  what: 'connect' | 'serve',
  revision: number,
): boolean {
  const device = store.find(deviceId)
  if (!device || state.tsMs < (device.entry.ownedFromMs ?? 0)) return false
  keepUnnamed(store, device)
  return store.rows.modems[what](device.ordinal, state.modem, state.tsMs) && showIfOther(store, device, revision)
}

/** Shows the active modem of a device if it is another one now. */
export function showIfOther(store: DeviceStore, device: MappedDevice, revision: number): boolean {
  const { modems, signals } = store.rows
  const active = modems.activeSignal(device.ordinal)
  return active !== null && !signals.isSame(device.ordinal, active) && showActive(store, device, revision)
}

function showActive(store: DeviceStore, device: MappedDevice, revision: number): boolean {
  const { modems, signals } = store.rows
  const active = modems.activeSignal(device.ordinal)
  if (!active) return false
  signals.write(device.ordinal, active)
  store.recent.measured(device.ordinal, active.tsMs)
  store.touch(device, revision)
  return true
}

/** Writes a row unless the store has a newer one, or it is from before the current ownership. Returns its device. */
function writeNewest<State extends { tsMs: number }>(
  store: DeviceStore,
  rows: RowPages<State>,
  { deviceId, state }: Located<State>,
  knownAtMs: (device: MappedDevice) => number | null,
): MappedDevice | undefined {
  const device = store.find(deviceId)
  if (!device || state.tsMs < (device.entry.ownedFromMs ?? 0)) return undefined
  if ((knownAtMs(device) ?? Number.NEGATIVE_INFINITY) > state.tsMs || rows.isSame(device.ordinal, state))
    return undefined
  rows.write(device.ordinal, state)
  return device
}

/** Sets the ongoing dwell of a device; undefined if it has none. */
export function setDwell(
  { rows, dwelling, touch }: DeviceStore,
  device: MappedDevice,
  found: OngoingDwellRow | undefined,
  revision: number,
): boolean {
  const { ordinal, entry } = device
  const dwell = found && found.arrivedAtMs >= (entry.ownedFromMs ?? 0) ? found : undefined
  if (dwell ? rows.dwells.isSame(ordinal, dwell) : !rows.dwells.has(ordinal)) return false
  if (dwell) {
    rows.dwells.write(ordinal, dwell)
    dwelling.add(device)
  } else {
    rows.dwells.remove(ordinal)
    dwelling.delete(device)
  }
  touch(device, revision)
  return true
}

const sameEntry = (a: RegistryEntry, b: RegistryEntry): boolean =>
  a.name === b.name &&
  a.status === b.status &&
  a.ownedFromMs === b.ownedFromMs &&
  a.tags.length === b.tags.length &&
  a.tags.every((tag, index) => tag === b.tags[index])
