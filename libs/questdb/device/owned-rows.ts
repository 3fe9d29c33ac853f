import { type SqlValue, timestampParameter } from '#questdb/server/sql'

/** The rows of a device that an organization may read: its own, measured in [fromMs, toMs). */
export type OwnedRange = { organizationId: string; fromMs: number; toMs: number }

export type Condition = { text: string; values: SqlValue[] }

/**
 * The WHERE condition for a device's rows in these ranges, of one modem if it is given (null: the one without a name), starting at
 * `$1`; undefined when nothing can match. The outer time bounds are separate conditions, because only these let QuestDB skip
 * partitions.
 */
export function ownedRows(
  deviceId: string,
  ranges: readonly OwnedRange[],
  modem?: string | null,
): Condition | undefined {
  const open = ranges.filter((range) => range.fromMs < range.toMs)
  const first = open[0]
  if (!first) return undefined
  const values: SqlValue[] = [
    deviceId,
    timestampParameter(Math.min(...open.map((range) => range.fromMs))),
    timestampParameter(Math.max(...open.map((range) => range.toMs))),
  ]
  const bind = (value: SqlValue) => `$${values.push(value)}`
  const owned =
    open.length === 1
      ? `org_id = ${bind(first.organizationId)}`
      : open
          .map(({ organizationId, fromMs, toMs }) => {
            const from = bind(timestampParameter(fromMs))
            const to = bind(timestampParameter(toMs))
            return `(org_id = ${bind(organizationId)} AND ts >= ${from} AND ts < ${to})`
          })
          .join(' OR ')
  const ofModem = modem === undefined ? '' : modem === null ? ' AND modem IS NULL' : ` AND modem = ${bind(modem)}`
  return { text: `device_id = $1 AND ts >= $2 AND ts < $3 AND (${owned})${ofModem}`, values }
}

/** The part of each range inside [fromMs, toMs). */
export const clipRanges = (ranges: readonly OwnedRange[], fromMs: number, toMs: number): OwnedRange[] =>
  ranges
    .map((range) => ({ ...range, fromMs: Math.max(range.fromMs, fromMs), toMs: Math.min(range.toMs, toMs) }))
    .filter((range) => range.fromMs < range.toMs)
