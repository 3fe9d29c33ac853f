import { newId } from '#core/ids'

/**
 * The ids of a batch and its jobs are UUIDv7 that differ only in the last eight hex digits: 0 for the batch, and the number
 * of the job, counted from 1. The ids of two batches therefore never interleave, sort by creation like all others, and are
 * cheap to generate; 100,000 random ones take as long as building an index.
 */
const sharedLength = 28
const countDigits = 8

/** The id of a new batch. */
export const newBatchId = (nowMs: number): string => batchJobId(newId(nowMs), 0)

/** The id of the batch's job number `ordinal`, counted from 1. */
export const batchJobId = (batchId: string, ordinal: number): string =>
  batchId.slice(0, sharedLength) + ordinal.toString(16).padStart(countDigits, '0')

/** `batchJobId` in SQL. The arguments are SQL expressions: a text or uuid, and a number. */
export const batchJobIdSql = (batchId: string, ordinal: string): string =>
  `(left(${batchId}::text, ${sharedLength}) || lpad(to_hex(${ordinal}), ${countDigits}, '0'))::uuid`

/** Where the ids of stages begin, exclusive, and end, inclusive. `ends`: how many jobs the batch has up to the end of each. */
export const stageRanges = (batchId: string, ends: readonly number[]): [after: string[], upTo: string[]] => [
  ends.map((_, index) => batchJobId(batchId, ends[index - 1] ?? 0)),
  ends.map((end) => batchJobId(batchId, end)),
]
