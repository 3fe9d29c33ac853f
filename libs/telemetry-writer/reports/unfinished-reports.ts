import type { LogPosition } from '#telemetry-log/log'

export type UnfinishedReports = {
  /** Records a report after which its device has rows to realign. */
  note(deviceId: string, position: LogPosition): void
  /** Returns the position of the oldest such report whose device still has rows to realign. */
  oldest(): LogPosition | undefined
}

/**
 * Tracks from where the log must be read again after a crash to find the rows to realign, because their ranges are only in
 * memory. `hasWork` returns whether a device has rows to realign.
 */
export function createUnfinishedReports(hasWork: (deviceId: string) => boolean): UnfinishedReports {
  const positions = new Map<string, LogPosition>()
  return {
    note(deviceId, position) {
      const known = positions.get(deviceId)
      if (known === undefined || position < known) positions.set(deviceId, position)
    },
    oldest() {
      let oldest: LogPosition | undefined
      for (const [deviceId, position] of positions) {
        if (!hasWork(deviceId)) positions.delete(deviceId)
        else if (oldest === undefined || position < oldest) oldest = position
      }
      return oldest
    },
  }
}
