import type { LogPosition } from '#telemetry-log/log'

export type UnconfirmedNews = {
  /** Records changes from the reports between `fromPosition` and the checkpoint. Returns the number to confirm. */
  sent(fromPosition: LogPosition): number
  /** Records that Postgres has the changes with this number and all before it. */
  confirm(number: number): void
  /** Returns the position in the log of the oldest changes that Postgres may lack. */
  oldest(): LogPosition | undefined
}

/** Tracks dwells and device reports that were handed over and are not confirmed by Postgres. */
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
