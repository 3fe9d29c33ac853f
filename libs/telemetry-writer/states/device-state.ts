import type { Kind } from '#telemetry/report/fields'
import type { LogPosition } from '#telemetry-log/log'
import type { DeviceTrack } from '#telemetry-writer/tracks/device-track'
import type { SeenTimes } from './seen-samples.ts'

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
export const stateVersion = 3
