import type { LogPosition } from '#telemetry-log/log'

export type UnconfirmedNews = {
  /** Notes news from the reports between `fromPosition` and the checkpoint. Returns the number to confirm. */
  sent(fromPosition: LogPosition): number
  /** Takes note that Postgres has the news with this number and all before it. */
  confirm(number: number): void
  /** Returns where the oldest news that Postgres may lack starts in the log. */
  oldest(): LogPosition | undefined
}

/** Knows which stays and device reports were handed over but are not known to be in Postgres. */
export function createUnconfirmedNews(): UnconfirmedNews {
  let count = 0
  let waiting: { number: number; fromPosition: LogPosition }[] = []
  return {
    sent(fromPosition) {
      count += 1
      waiting.push({ number: count, fromPosition })
      return count
    },
    confirm(confirmed) {
      waiting = waiting.filter(({ number }) => number > confirmed)
    },
    oldest: () => waiting[0]?.fromPosition,
  }
}
