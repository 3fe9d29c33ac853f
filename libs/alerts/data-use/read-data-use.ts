import { countedBeforeMs, lastOf, usedSince } from '#questdb/device/data-use'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { addSpan, type Counted } from './counter.ts'

const dayMs = 86_400_000
/** The length of the part of a day that one statement reads, so that it ends in time for a large fleet. */
const spanMs = 3_600_000

/**
 * The bytes that devices received and sent on a UTC day (`YYYY-MM-DD`) under each organization, from the counters of their
 * `connection` samples. Each direction of each modem and interface is a counter of its own, compared with its own last value.
 * What a device used before the first sample of the day counts if it sent a sample in the hour before. A device that sent no counter on
 * the day is missing.
 */
export async function readDataUse(
  questdb: QuestdbSql,
  day: string,
  organizationIds: readonly string[],
): Promise<{ organizationId: string; deviceId: string; bytes: number }[]> {
  const startMs = Date.parse(`${day}T00:00:00Z`)
  const counters = new Map<string, Counted>()
  const used = new Map<string, { organizationId: string; deviceId: string; bytes: number }>()
  for (let fromMs = startMs - countedBeforeMs; fromMs < startMs + dayMs; ) {
    const toMs = fromMs < startMs ? startMs : fromMs + spanMs
    for (const row of await readSpan(questdb, organizationIds, fromMs, toMs)) {
      const [organizationId, deviceId, modem, uplink, ...values] = row
      const key = `${organizationId} ${deviceId}`
      const source = JSON.stringify([key, modem, uplink])
      const [rx, tx] = [values.slice(0, 3), values.slice(3)].map((span, direction) =>
        addSpan(counters, `${direction} ${source}`, span),
      )
      if (fromMs < startMs) continue
      const known = used.get(key)
      const bytes = (rx ?? 0) + (tx ?? 0)
      if (known) known.bytes += bytes
      else used.set(key, { organizationId, deviceId, bytes })
    }
    fromMs = toMs
  }
  return [...used.values()]
}

type SpanRow = [
  organizationId: string,
  deviceId: string,
  modem: string | null,
  uplink: string | null,
  ...rx: [first: number | null, last: number | null, used: number | null],
  ...tx: [first: number | null, last: number | null, used: number | null],
]

/** What each counter did in a part of a day: its first and last value, and the bytes between them. */
function readSpan(questdb: QuestdbSql, organizationIds: readonly string[], fromMs: number, toMs: number) {
  // Ids come from columns of type uuid. There can be more of them than a statement can bind.
  const organizations = organizationIds.map((id) => `'${id}'`).join(', ')
  const spanOf = (counter: string, last: string) =>
    `first_not_null(${counter}), last_not_null(${counter}), sum(${usedSince(counter, last)})`
  return questdb.queryArrays<SpanRow>(
    `WITH counted AS (
       SELECT ts, org_id, device_id, modem, interface, rx_bytes, tx_bytes, ${lastOf('rx_bytes')} last_rx, ${lastOf('tx_bytes')} last_tx
       FROM connection WHERE ts >= $1 AND ts < $2 AND org_id IN (${organizations})
     )
     SELECT org_id, device_id, modem, interface, ${spanOf('rx_bytes', 'last_rx')}, ${spanOf('tx_bytes', 'last_tx')}
     FROM counted WHERE rx_bytes IS NOT NULL OR tx_bytes IS NOT NULL`,
    [timestampParameter(fromMs), timestampParameter(toMs)],
  )
}
