import { maxTrailing } from '#telemetry/position/alignment-limits'

/** How much stored data the recovery of a device reads. `fixes` includes those of an open dwell. */
export type RecoveryAmount = { fixes: number; rows: number; cellsCharacters: number }

/**
 * Limits for one device. Of a device with more recent fixes, only the newest are read, and its track is rebuilt from storage
 * when it is quiet. One row more than an alignment keeps, so that it detects that there are older rows.
 */
export const limitsAlone: RecoveryAmount = { fixes: 5_000, rows: maxTrailing + 1, cellsCharacters: 256 * 1024 }

/** Limits for the devices that are read together. Two shares are in memory at once. */
export const limitsTogether: RecoveryAmount = {
  fixes: 25_000,
  rows: 25 * limitsAlone.rows,
  cellsCharacters: 25 * limitsAlone.cellsCharacters,
}

/**
 * Divides devices, in their order, into shares that are read together. A share stays within `limitsTogether`. A device above
 * `limitsAlone` has a share of its own.
 */
export function sharesOf(deviceIds: readonly string[], amountOf: (deviceId: string) => RecoveryAmount): string[][] {
  const alone: string[][] = []
  const together: string[][] = []
  let share: string[] = []
  let sum: RecoveryAmount = { fixes: 0, rows: 0, cellsCharacters: 0 }
  for (const deviceId of deviceIds) {
    const amount = amountOf(deviceId)
    if (!isWithin(amount, limitsAlone)) {
      alone.push([deviceId])
      continue
    }
    const next = plus(sum, amount)
    const isFull = !isWithin(next, limitsTogether)
    if (isFull || share.length === 0) {
      share = []
      together.push(share)
    }
    sum = isFull ? amount : next
    share.push(deviceId)
  }
  return [...together, ...alone]
}

const isWithin = (amount: RecoveryAmount, limits: RecoveryAmount): boolean =>
  amount.fixes <= limits.fixes && amount.rows <= limits.rows && amount.cellsCharacters <= limits.cellsCharacters

const plus = (a: RecoveryAmount, b: RecoveryAmount): RecoveryAmount => ({
  fixes: a.fixes + b.fixes,
  rows: a.rows + b.rows,
  cellsCharacters: a.cellsCharacters + b.cellsCharacters,
})

/** Divides a list into lists of at most `size` items. */
export function groupsOf<Item>(items: readonly Item[], size: number): Item[][] {
  const groups: Item[][] = []
  for (let start = 0; start < items.length; start += size) groups.push(items.slice(start, start + size))
  return groups
}

/** Divides devices into groups whose times differ by at most `withinMs`, each in order of time. */
export function withSimilarTimes(devices: readonly [deviceId: string, timeMs: number][], withinMs: number) {
  const groups: [deviceId: string, timeMs: number][][] = []
  let firstMs = Number.NEGATIVE_INFINITY
  for (const device of devices.toSorted(([, a], [, b]) => a - b)) {
    const group = groups.at(-1)
    if (group && device[1] - firstMs <= withinMs) group.push(device)
    else {
      groups.push([device])
      firstMs = device[1]
    }
  }
  return groups
}
