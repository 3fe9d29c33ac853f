import { preparePrivateFolder } from '#files/private-folder'
import { folderBytes, freeBytes } from '#telemetry-log/checkpoints/folder-bytes'

/** Disk limits of the telemetry log, in bytes. */
export type LogBudget = {
  /** All files of the folder together. */
  budgetBytes: number
  /** A segment is deleted only as a whole, so it is small compared with the budget. */
  maxSegmentBytes: number
  /** Above this size, stored segments are deleted early. */
  earlyDeletionBytes: number
}

const mebibyte = 1024 ** 2
const defaultBudgetBytes = 10 * 1024 * mebibyte
/** Below this free space, no report is accepted, because other programs need the disk as well. */
export const reservedDiskBytes = 64 * mebibyte
const earlyDeletionShare = 0.5
const largestSegmentBytes = 64 * mebibyte
const smallestSegmentBytes = 64 * 1024
const segmentsInBudget = 32

/** Returns the budget of a log: `configuredBytes`, or 10 GiB or half of the available disk, whichever is less. */
export function logBudget(folder: string, configuredBytes: number | undefined): LogBudget {
  preparePrivateFolder(folder)
  const availableBytes = freeBytes(folder) + folderBytes(folder)
  const budgetBytes = configuredBytes ?? Math.min(defaultBudgetBytes, Math.floor(availableBytes / 2))
  const segmentBytes = Math.floor(budgetBytes / segmentsInBudget)
  return {
    budgetBytes,
    maxSegmentBytes: Math.min(largestSegmentBytes, Math.max(smallestSegmentBytes, segmentBytes)),
    earlyDeletionBytes: Math.floor(earlyDeletionShare * budgetBytes),
  }
}
