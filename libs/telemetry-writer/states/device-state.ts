import type { DeviceClass } from '#telemetry/position/dwell'
import type { Kind } from '#telemetry/report/fields'
import type { LogPosition } from '#telemetry-log/log'
import { createDeviceTrack, type DeviceTrack } from '#telemetry-writer/tracks/device-track'
import { createSeenTimes, type SeenTimes } from './seen-samples.ts'

/** The state of a device in memory. It can be restored from the database. A new member needs a new `stateVersion`. */
export type DeviceState = {
  /** Every report of the device that the state includes is before this position. */
  position: LogPosition
  seen: Record<Kind, SeenTimes>
  track: DeviceTrack
  /** The newest system sample that was reported to Postgres. */
  newestSystemMs: number
  usedAtMs: number
}

/** States that were packed with another version are not read. */
export const stateVersion = 4

/** The state of a device of which nothing is known. */
export const createDeviceState = (deviceClass: DeviceClass = 'vehicle'): DeviceState => ({
  position: 0,
  seen: {
    cellular: createSeenTimes(),
    connection: createSeenTimes(),
    location: createSeenTimes(),
    system: createSeenTimes(),
  },
  track: createDeviceTrack(deviceClass),
  newestSystemMs: 0,
  usedAtMs: 0,
})
