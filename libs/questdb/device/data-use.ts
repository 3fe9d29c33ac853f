import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { maxInterfaces, maxModems, sourceOf } from '#telemetry/report/sources'
import { clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'

/** What a modem received and sent through an interface, in bytes; null for a direction that was not counted. */
export type InterfaceUse = {
  modem: string | null
  interface: string | null
  rxBytes: number | null
  txBytes: number | null
}

/** Names are free text. Of more uplinks than reports can have, those with the most bytes remain. */
const maxUplinks = maxModems * maxInterfaces

/** A first sample counts from the last one if that is at most this old. */
export const countedBeforeMs = 3_600_000

/**
 * What each modem and interface of a device used in [fromMs, toMs), by name, from its rows in the ranges. A range is counted by
 * itself: what the device used for another owner does not count.
 */
export async function deviceDataUse(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<InterfaceUse[]> {
  const used = new Map<string, InterfaceUse>()
  for (const range of clipRanges(ranges, fromMs - countedBeforeMs, toMs)) {
    const owned = ownedRows(deviceId, [range])
    if (!owned) continue
    const rows = await questdb.queryArrays<[string | null, string | null, number | null, number | null]>(
      `WITH counted AS (
         SELECT ts, modem, interface, rx_bytes, tx_bytes, ${lastOf('rx_bytes')} last_rx, ${lastOf('tx_bytes')} last_tx
         FROM connection WHERE ${owned.text}
       )
       SELECT modem, interface, rx, tx, coalesce(rx, 0) + coalesce(tx, 0) used FROM (
         SELECT modem, interface, ${sumOf('rx_bytes', 'last_rx')} rx, ${sumOf('tx_bytes', 'last_tx')} tx
         FROM counted WHERE ts >= $${owned.values.length + 1} GROUP BY modem, interface
       ) ORDER BY used DESC LIMIT ${maxUplinks}`,
      [...owned.values, timestampParameter(fromMs)],
    )
    for (const [modem, uplink, rxBytes, txBytes] of rows) {
      const key = sourceOf(modem, uplink)
      const known = used.get(key)
      const bytes = { rxBytes: sum(known?.rxBytes, rxBytes), txBytes: sum(known?.txBytes, txBytes) }
      if (bytes.rxBytes !== null || bytes.txBytes !== null) used.set(key, { modem, interface: uplink, ...bytes })
    }
  }
  const bytesOf = ({ rxBytes, txBytes }: InterfaceUse) => (rxBytes ?? 0) + (txBytes ?? 0)
  const most = [...used].sort(([, one], [, other]) => bytesOf(other) - bytesOf(one)).slice(0, maxUplinks)
  return most.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, use]) => use)
}

const sum = (known: number | null | undefined, bytes: number | null): number | null =>
  bytes === null ? (known ?? null) : (known ?? 0) + bytes

/** The bytes of all increments of a counter; null if it was never sent. */
const sumOf = (counter: string, last: string) =>
  `CASE WHEN count(${counter}) > 0 THEN sum(${usedSince(counter, last)}) END`

/** The value of a counter in the sample before that has one. Each modem and interface has counters of its own. */
export const lastOf = (counter: string): string =>
  `lag(${counter}) IGNORE NULLS OVER (PARTITION BY org_id, device_id, modem, interface ORDER BY ts)`

/**
 * The bytes between two values of a counter. A counter that falls has wrapped at 2^32, if that explains it with less than 2^31
 * bytes; otherwise it has started again from 0.
 */
export const usedSince = (present: string, last: string): string => `CASE
    WHEN ${present} IS NULL OR ${last} IS NULL THEN 0.0
    WHEN ${present} >= ${last} THEN ${present} - ${last}
    WHEN ${last} >= 2147483648.0 AND ${last} < 4294967296.0 AND ${present} + 4294967296.0 - ${last} < 2147483648.0
      THEN ${present} + 4294967296.0 - ${last}
    ELSE ${present} END`
