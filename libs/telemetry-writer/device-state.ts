import type { Kind } from '#telemetry/fields'
import type { DeviceTrack } from './device-track.ts'
import type { SeenTimes } from './seen-samples.ts'

/** The state of a device in memory. It can be restored from the database. */
export type DeviceState = {
  seen: Record<Kind, SeenTimes>
  track: DeviceTrack
  /** The newest system sample that was reported to Postgres. */
  newestSystemMs: number
  usedAtMs: number
}
