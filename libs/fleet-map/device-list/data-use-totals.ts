import type { Clock } from '#core/clock'
import { createSharedReads, type SharedReads } from '#core/shared-reads'
import type { LiveFilter, LiveSortKey } from '#fleet/devices/live-filter'
import type { ListSource } from '#fleet-map/device-list/list-source'
import { cacheBytes } from '#fleet-map/memory-limits'
import type { FairPool } from '#postgres/fair-pool'

/**
 * The bytes that all modems and interfaces of a device received and sent on the UTC day and since the start of the UTC month; null
 * for a time without a counter.
 */
export type DeviceDataUse = { todayBytes: number | null; monthBytes: number | null }

export type Totals = {
  byDevice: ReadonlyMap<string, DeviceDataUse>
  /** When the worker measured the day; null if it has not yet. */
  measuredAtMs: number | null
}

/** What the devices of organizations used, as the worker last measured it. All callers of a process share the totals. */
export type DataUseTotals = { read(organizationId: string): Promise<Totals> }

const freshMs = 60_000
const oldestMs = 5 * 60_000
/** After a start and after midnight UTC, the first measurement of the day comes within seconds. */
const unmeasuredMs = 5_000
/** A text of 36 characters, an entry of a map, an object and two numbers. */
const deviceBytes = 200

/** The totals of all organizations, which the worker measures every 10 minutes. */
export function createDataUseTotals({ pools, clock }: { pools: FairPool; clock: Clock }): DataUseTotals {
  const reads: SharedReads<Totals> = createSharedReads({
    clock,
    agesOf: ({ measuredAtMs }, startedMs) =>
      measuredAtMs === null
        ? { freshUntilMs: startedMs + unmeasuredMs }
        : { freshUntilMs: startedMs + freshMs, oldestUntilMs: startedMs + oldestMs },
    maxSize: cacheBytes.dataUse,
    sizeOf: ({ byDevice }, key) => 2 * key.length + (byDevice.size + 1) * deviceBytes,
  })
  return {
    read(organizationId) {
      // Another day has other totals.
      const day = new Date(clock()).toISOString().slice(0, 10)
      return reads.read(`${organizationId} ${day}`, () => readTotals(pools, organizationId, day))
    },
  }
}

type Row = [deviceId: string, todayBytes: number | null, monthBytes: number | null]

async function readTotals(pools: FairPool, organizationId: string, day: string): Promise<Totals> {
  const pool = pools.of(`org:${organizationId}`)
  const { rows: measured } = await pool.query<{ at: Date | null }>(
    'SELECT measured_at AS at FROM data_use_day WHERE organization_id = $1 AND day = $2',
    [organizationId, day],
  )
  const { rows } = await pool.query<Row>({
    text: `SELECT device.id, used.today, used.month FROM device LEFT JOIN (
        SELECT device_id, sum(bytes) FILTER (WHERE day = $2::date) AS today, sum(bytes) AS month
        FROM device_data_use
        WHERE organization_id = $1 AND day BETWEEN date_trunc('month', $2::date)::date AND $2::date
        GROUP BY device_id
      ) used ON used.device_id = device.id WHERE device.organization_id = $1`,
    values: [organizationId, day],
    rowMode: 'array',
  })
  return {
    byDevice: new Map(rows.map(([id, todayBytes, monthBytes]) => [id, { todayBytes, monthBytes }])),
    measuredAtMs: measured[0]?.at?.getTime() ?? null,
  }
}

/** Selects by data use. A device without a counter matches no minimum. */
export function dataUseSource(
  { byDevice }: Totals,
  { minTodayBytes, minMonthBytes }: LiveFilter,
  key: LiveSortKey | undefined,
): ListSource {
  const isAtLeast = (bytes: number | null | undefined, least: number | undefined): boolean =>
    least === undefined || (bytes !== null && bytes !== undefined && bytes >= least)
  const member = key === 'dataToday' ? 'todayBytes' : 'monthBytes'
  return {
    ids: () => byDevice.keys(),
    matches(deviceId) {
      const used = byDevice.get(deviceId)
      return isAtLeast(used?.todayBytes, minTodayBytes) && isAtLeast(used?.monthBytes, minMonthBytes)
    },
    valueOf: (deviceId) => byDevice.get(deviceId)?.[member] ?? null,
  }
}
