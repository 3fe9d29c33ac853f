import { cellToParent } from 'h3-js'
import type { StoredRow } from '#test/telemetry-rows'

/** The place and the device of a vote. */
export type Voter = { organizationId: string; deviceId: string }

const minuteMs = 60_000
let calls = 0

/**
 * Returns `count` cellular rows in one resolution-10 cell, one per minute, the newest a minute ago. Each is one vote. Rows of
 * different calls never have the same time, so none replaces another.
 */
export function votesIn(
  voter: Voter,
  h3: string,
  count: number,
  fields: Record<string, unknown> = {},
  newestMs = Date.now() - minuteMs,
): StoredRow[] {
  const isServed = fields.rat !== 'none'
  const callMs = calls++ % 30_000
  return Array.from({ length: count }, (_, index) => ({
    ...voter,
    tsMs: (Math.floor(newestMs / minuteMs) - index) * minuteMs + callMs,
    rat: 'lte',
    plmn: '27201',
    ...(isServed ? { rsrpDbm: -90, sinrDb: 10 } : {}),
    h3Res10: BigInt(`0x${h3}`),
    h3Res5: BigInt(`0x${cellToParent(h3, 5)}`),
    ...fields,
  }))
}
