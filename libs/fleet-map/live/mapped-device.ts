import type { DeviceRows } from '#fleet-map/live/device-rows'
import type { MapDeviceState, RegistryEntry } from '#fleet-map/live/device-state'

/** A device of a map, which reads its state from the rows of all devices. A class, because a million devices share its getters. */
export class MappedDevice implements MapDeviceState {
  readonly #rows: DeviceRows
  readonly ordinal: number
  entry: RegistryEntry
  revision: number

  constructor(rows: DeviceRows, ordinal: number, entry: RegistryEntry, revision: number) {
    this.#rows = rows
    this.ordinal = ordinal
    this.entry = entry
    this.revision = revision
  }

  get location() {
    return this.#rows.locations.read(this.ordinal)
  }

  get signal() {
    return this.#rows.signals.read(this.ordinal)
  }

  get modems() {
    const { modems } = this.#rows
    if (modems.has(this.ordinal)) return modems.signals(this.ordinal)
    const { signal } = this
    return signal ? [{ isActive: true, signal }] : []
  }

  get dwell() {
    return this.#rows.dwells.read(this.ordinal)
  }

  get locatedAtMs() {
    return this.#rows.locations.number(this.ordinal, 'tsMs')
  }

  get measuredAtMs() {
    return this.#rows.signals.number(this.ordinal, 'tsMs')
  }
}
