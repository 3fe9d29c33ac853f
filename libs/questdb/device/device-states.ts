import type { QuestdbSql } from '#questdb/server/sql'
import type { CellularState, SystemState } from '#telemetry/position/device-changes'
import { kinds } from '#telemetry/report/fields'
import { type Condition, clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'

/** `told`: the condition for rows that tell a state. */
const sources = {
  cellular: {
    columns: 'modem, rat, plmn, operator_name, cell_id',
    told: '(rat IS NOT NULL OR plmn IS NOT NULL OR cell_id IS NOT NULL)',
  },
  system: { columns: 'uptime_s, reboot_reason, fault', told: 'true' },
} as const

/** The newest rows of a table, oldest first. `isCut`: there are older ones. */
type Newest<State> = { states: State[]; isCut: boolean }

/** The newest `limit` cellular states of a device within the ranges, of one modem if it is given (null: the one without a name). */
export async function cellularStates(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  limit: number,
  modem?: string | null,
): Promise<Newest<CellularState>> {
  const rows = await newestRows(questdb, 'cellular', ownedRows(deviceId, ranges, modem), limit)
  return newest(rows, limit, ([tsMs, name, rat, plmn, operatorName, cellId]) => ({
    tsMs: tsMs as number,
    modem: name as string | null,
    rat: rat as string | null,
    plmn: plmn as string | null,
    operatorName: operatorName as string | null,
    cellId: cellId === null ? null : String(cellId),
  }))
}

/** The newest `limit` system states of a device within the ranges. */
export async function systemStates(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  limit: number,
): Promise<Newest<SystemState>> {
  const rows = await newestRows(questdb, 'system', ownedRows(deviceId, ranges), limit)
  return newest(rows, limit, ([tsMs, uptimeS, rebootReason, fault]) => ({
    tsMs: tsMs as number,
    uptimeS: uptimeS === null ? null : Number(uptimeS),
    rebootReason: rebootReason as string | null,
    fault: fault as string | null,
  }))
}

function newest<State>(rows: readonly unknown[][], limit: number, read: (row: unknown[]) => State): Newest<State> {
  return { states: rows.slice(0, limit).map(read).reverse(), isCut: rows.length > limit }
}

async function newestRows(
  questdb: QuestdbSql,
  table: keyof typeof sources,
  owned: Condition | undefined,
  limit: number,
): Promise<unknown[][]> {
  if (!owned) return []
  const { columns, told } = sources[table]
  return questdb.queryArrays(
    `SELECT ts, ${columns} FROM ${table} WHERE ${owned.text} AND ${told} ORDER BY ts DESC LIMIT $${owned.values.length + 1}`,
    [...owned.values, limit + 1],
  )
}

/** The time of a device's newest sample of any kind within the ranges; null if there is none. */
export async function newestSampleMs(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
): Promise<number | null> {
  const owned = ownedRows(deviceId, ranges)
  if (!owned) return null
  const perKind = await Promise.all(
    kinds.map((kind) =>
      questdb.queryArrays<[number]>(
        `SELECT ts FROM ${kind} WHERE ${owned.text} ORDER BY ts DESC LIMIT 1`,
        owned.values,
      ),
    ),
  )
  const times = perKind.flat(2)
  return times.length === 0 ? null : Math.max(...times)
}

/** The samples that a device measured in one UTC hour, of all kinds. */
type ReportHour = { hourMs: number; samples: number; firstMs: number; lastMs: number }

/** The hours in [fromMs, toMs) in which the device measured something, by their start. */
export async function reportHours(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<Map<number, ReportHour>> {
  const hours = new Map<number, ReportHour>()
  const owned = ownedRows(deviceId, clipRanges(ranges, fromMs, toMs))
  if (!owned) return hours
  const perKind = await Promise.all(
    kinds.map((kind) =>
      questdb.queryArrays<[hourMs: number, samples: string, firstMs: number, lastMs: number]>(
        `SELECT hour, count(), min(ts), max(ts)
         FROM (SELECT timestamp_floor('h', ts) AS hour, ts FROM ${kind} WHERE ${owned.text}) GROUP BY hour`,
        owned.values,
      ),
    ),
  )
  for (const [hourMs, samples, firstMs, lastMs] of perKind.flat()) {
    const known = hours.get(hourMs)
    hours.set(hourMs, {
      hourMs,
      samples: Number(samples) + (known?.samples ?? 0),
      firstMs: Math.min(firstMs, known?.firstMs ?? firstMs),
      lastMs: Math.max(lastMs, known?.lastMs ?? lastMs),
    })
  }
  return hours
}
