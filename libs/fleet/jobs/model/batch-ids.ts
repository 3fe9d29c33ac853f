import { newId } from '#core/ids'

/**
 * The ids of a batch and its jobs: UUIDv7 that share everything but the last eight hex digits. Those count the jobs from
 * 1 on and are 0 for the batch. Ids of one batch thus never lie between those of another, sort by creation as others do,
 * and cost nothing to make: 100,000 random ones take as long as an index.
 */
const sharedLength = 28
const countDigits = 8

/** The id of a new batch. */
export const newBatchId = (nowMs: number): string => batchJobId(newId(nowMs), 0)

/** The id of the batch's job number `ordinal`, counted from 1. */
export const batchJobId = (batchId: string, ordinal: number): string =>
  batchId.slice(0, sharedLength) + ordinal.toString(16).padStart(countDigits, '0')

/** SQL for the same; the arguments are SQL expressions: a text or uuid, and a number. */
export const batchJobIdSql = (batchId: string, ordinal: string): string =>
  `(left(${batchId}::text, ${sharedLength}) || lpad(to_hex(${ordinal}), ${countDigits}, '0'))::uuid`
