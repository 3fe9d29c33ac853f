import { type OwnedRange, ownedRows } from '#questdb/owned-rows'
import type { QuestdbSql } from '#questdb/sql'
import { fieldsOf, type Kind } from '#telemetry/fields'
import { columnName } from '#telemetry/tables'

export type StepStatistics = { min: number; mean: number; max: number }

/** One kind's samples of one step: `ts` is the start of the step, `fields` those that had a value in it. */
export type HistoryStep = { ts: string; kind: Kind; samples: number; fields: Record<string, StepStatistics> }

// Numbers that name something or go round in a circle: their mean says nothing.
const notMeasured: ReadonlySet<string> = new Set([
  'lat',
  'lon',
  'headingDeg',
  'simSlot',
  'arfcn',
  'pci',
  'nrArfcn',
  'nrPci',
])

/** The fields of a kind that steps summarize. */
export const steppedFields = (kind: Kind): string[] =>
  fieldsOf(kind).flatMap(([name, field]) => (field.type === 'number' && !notMeasured.has(name) ? [name] : []))

/**
 * At most `limit` steps of these kinds, newest first, equal times by kind ascending. Steps are aligned to the epoch;
 * the oldest and the newest one may be cut by the ranges.
 */
export async function historySteps(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  query: {
    kinds: readonly Kind[]
    stepSeconds: number
    limit: number
    position?: { tsMs: number; kind: Kind } | undefined
  },
): Promise<HistoryStep[]> {
  const { limit, stepSeconds, position } = query
  const perKind = await Promise.all(
    query.kinds.map(async (kind) => {
      const endMs = position && (kind > position.kind ? position.tsMs + stepSeconds * 1_000 : position.tsMs)
      const owned = ownedRows(
        deviceId,
        ranges.map((range) => ({ ...range, toMs: Math.min(range.toMs, endMs ?? range.toMs) })),
      )
      if (!owned) return []
      const names = steppedFields(kind)
      const statistics = names.map(columnName).map((column) => `min(${column}), avg(${column}), max(${column})`)
      const rows = await questdb.queryArrays(
        `SELECT timestamp_floor('${stepSeconds}s', ts) step, count() samples, ${statistics.join(', ')}
         FROM ${kind} WHERE ${owned.text} GROUP BY step ORDER BY step DESC LIMIT $${owned.values.length + 1}`,
        [...owned.values, limit],
      )
      return rows.map((row) => stepOf(kind, names, row))
    }),
  )
  return perKind
    .flat()
    .sort((a, b) => (a.ts === b.ts ? (a.kind < b.kind ? -1 : 1) : a.ts < b.ts ? 1 : -1))
    .slice(0, limit)
}

function stepOf(kind: Kind, names: readonly string[], row: readonly unknown[]): HistoryStep {
  const fields: HistoryStep['fields'] = {}
  for (const [index, name] of names.entries()) {
    const [min, mean, max] = row.slice(2 + index * 3, 5 + index * 3)
    if (typeof min === 'number' && typeof mean === 'number' && typeof max === 'number')
      fields[name] = { min, mean, max }
  }
  return { ts: new Date(Number(row[0])).toISOString(), kind, samples: Number(row[1]), fields }
}
