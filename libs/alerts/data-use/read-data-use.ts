import { countedBeforeMs, deviceDataUse, lastOf, usedSince } from '#questdb/device/data-use'
import { inIntervals, type OwnedDevice, ofOwners, type RowOwners } from '#questdb/server/owned-only'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { addSpan, type Counted } from './counter.ts'

const dayMs = 86_400_000
/** The length of the part of a day that one statement reads, so that it ends in time for a large fleet. */
const spanMs = 3_600_000

/**
 * The bytes that devices received and sent on a UTC day (`YYYY-MM-DD`) under each organization, from the counters of their
 * `connection` samples. Each direction of each modem and interface is a counter of its own, compared with its own last value.
 * What a device used before the first sample of the day counts if it sent a sample in the hour before. A device that sent no counter on
 * the day is missing. What it used under another organization does not count.
 */
export async function readDataUse(questdb: QuestdbSql, day: string, owners: RowOwners): Promise<DeviceUse[]> {
  const startMs = Date.parse(`${day}T00:00:00Z`)
  const range = { fromMs: startMs - countedBeforeMs, toMs: startMs + dayMs }
  const returned = owners.late.filter((device) => isReturned(device, range))
  const ofOrganizations = await ofOwners(questdb, owners, ['connection'], range)
  const condition = [ofOrganizations, ...returned.map((device) => inIntervals({ ...device, intervals: [] }))].join(
    ' AND ',
  )
  const counters = new Map<string, Counted>()
  const used = new Map<string, DeviceUse>()
  for (let { fromMs } = range; fromMs < range.toMs; ) {
    const toMs = fromMs < startMs ? startMs : fromMs + spanMs
    for (const row of await readSpan(questdb, condition, fromMs, toMs)) {
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
  return [...used.values(), ...(await readReturned(questdb, returned, { fromMs: startMs, toMs: range.toMs }))]
}

type DeviceUse = { organizationId: string; deviceId: string; bytes: number }

/** Whether the organization got the device back in this time, so that its counters start again. */
const isReturned = ({ intervals }: OwnedDevice, range: { fromMs: number; toMs: number }): boolean =>
  intervals.filter(({ fromMs, toMs }) => fromMs < range.toMs && toMs > range.fromMs).length > 1

/** What devices used that an organization got back, each by itself, because there are very few. */
async function readReturned(
  questdb: QuestdbSql,
  returned: readonly OwnedDevice[],
  range: { fromMs: number; toMs: number },
): Promise<DeviceUse[]> {
  const used: DeviceUse[] = []
  for (const { organizationId, deviceId, intervals } of returned) {
    const ranges = intervals.map((interval) => ({ organizationId, ...interval }))
    const uses = await deviceDataUse(questdb, deviceId, ranges, range)
    const bytes = uses.reduce((sum, { rxBytes, txBytes }) => sum + (rxBytes ?? 0) + (txBytes ?? 0), 0)
    if (uses.length > 0) used.push({ organizationId, deviceId, bytes })
  }
  return used
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
function readSpan(questdb: QuestdbSql, condition: string, fromMs: number, toMs: number) {
  const spanOf = (counter: string, last: string) =>
    `first_not_null(${counter}), last_not_null(${counter}), sum(${usedSince(counter, last)})`
  return questdb.queryArrays<SpanRow>(
    `WITH counted AS (
       SELECT ts, org_id, device_id, modem, interface, rx_bytes, tx_bytes, ${lastOf('rx_bytes')} last_rx, ${lastOf('tx_bytes')} last_tx
       FROM connection WHERE ts >= $1 AND ts < $2 AND ${condition}
     )
     SELECT org_id, device_id, modem, interface, ${spanOf('rx_bytes', 'last_rx')}, ${spanOf('tx_bytes', 'last_tx')}
     FROM counted WHERE rx_bytes IS NOT NULL OR tx_bytes IS NOT NULL`,
    [timestampParameter(fromMs), timestampParameter(toMs)],
  )
}
