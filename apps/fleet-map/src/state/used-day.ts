import type { DeviceDataUse } from '../api/schemas.ts'

/** What all modems of a device received and sent on a UTC day; null for a day that is not known whole. */
export type UsedDay = { day: string; rxBytes: number | null; txBytes: number | null }

/** Adds up the modems of a day. Of a day that the plan cuts, the rest would look like the whole. */
export function usedDay(day: string, { items, window }: Pick<DeviceDataUse, 'items' | 'window'>): UsedDay {
  const shown = window.limitedBy === null ? items : []
  const sum = (direction: 'rxBytes' | 'txBytes') =>
    shown.reduce<number | null>((all, item) => (item[direction] === null ? all : (all ?? 0) + item[direction]), null)
  return { day, rxBytes: sum('rxBytes'), txBytes: sum('txBytes') }
}
