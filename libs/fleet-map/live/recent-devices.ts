import { createBuckets } from '#fleet-map/live/buckets'
import { createChangeOrder } from '#fleet-map/live/change-order'

/** When the devices of a map changed and were heard, so that a delta finds what is new. Devices are ordinals. */
export type RecentDevices = {
  changed(ordinal: number): void
  located(ordinal: number, tsMs: number): void
  measured(ordinal: number, tsMs: number): void
  remove(ordinal: number): void
  /** The devices with a change for which `isChanged` holds, and those with a position or signal from a period; each once, sorted. */
  since(isChanged: (ordinal: number) => boolean, heard?: { fromMs: number; toMs: number }): number[]
}

const minuteMs = 60_000

export function createRecentDevices(): RecentDevices {
  const changes = createChangeOrder()
  /** Positions (twice the ordinal) and signals (one more) by the minute of their time. */
  const heardIn = createBuckets()
  return {
    changed: changes.touch,
    located: (ordinal, tsMs) => heardIn.place(2 * ordinal, minuteOf(tsMs)),
    measured: (ordinal, tsMs) => heardIn.place(2 * ordinal + 1, minuteOf(tsMs)),
    remove(ordinal) {
      changes.remove(ordinal)
      for (const item of [2 * ordinal, 2 * ordinal + 1]) heardIn.remove(item)
    },
    since(isChanged, heard) {
      const found = new Set<number>()
      changes.fromNewest((ordinal) => {
        const isNew = isChanged(ordinal)
        if (isNew) found.add(ordinal)
        return isNew
      })
      const lastMinute = heard ? minuteOf(heard.toMs) : -1
      for (let minute = minuteOf(heard?.fromMs ?? 0); minute <= lastMinute; minute++) {
        heardIn.forEach(minute, (item) => found.add(item >> 1))
      }
      return [...found].sort((a, b) => a - b)
    },
  }
}

const minuteOf = (ms: number): number => Math.max(0, Math.floor(ms / minuteMs))
