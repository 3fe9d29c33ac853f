import type { QuestdbSql } from '#questdb/server/sql'
import { fieldsOf, type Kind } from '#telemetry/report/fields'
import { columnName } from '#telemetry/rows/tables'
import { clipRanges, type OwnedRange, ownedRows } from './owned-rows.ts'

type StepStatistics = { min: number; mean: number; max: number }

/** One kind's samples of one step: `ts` is the start of the step, `fields` those that had a value in it. */
export type HistoryStep = { ts: string; kind: Kind; samples: number; fields: Record<string, StepStatistics> }

// Identifiers and angles, whose mean has no meaning.
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
    modem?: string | undefined
    stepSeconds: number
    limit: number
    position?: { tsMs: number; kind: Kind } | undefined
  },
): Promise<HistoryStep[]> {
  const { limit, stepSeconds, position } = query
  const perKind = await Promise.all(
    query.kinds.map(async (kind) => {
      const endMs = position && (kind > position.kind ? position.tsMs + stepSeconds * 1_000 : position.tsMs)
      return newestSteps(questdb, kind, deviceId, clipRanges(ranges, 0, endMs ?? Number.POSITIVE_INFINITY), query)
    }),
  )
  return perKind
    .flat()
    .sort((a, b) => (a.ts === b.ts ? (a.kind < b.kind ? -1 : 1) : a.ts < b.ts ? 1 : -1))
    .slice(0, limit)
}

// How many times as long the next stretch is when one had too few steps.
const stretchGrowth = 8

/**
 * Reads stretch after stretch, the newest first, until there are enough steps: the first stretch holds `limit` steps when
 * none is empty. One query over the whole range would summarize all of it again for every page.
 */
async function newestSteps(
  questdb: QuestdbSql,
  kind: Kind,
  deviceId: string,
  ranges: readonly OwnedRange[],
  { limit, stepSeconds, modem }: { limit: number; stepSeconds: number; modem?: string | undefined },
): Promise<HistoryStep[]> {
  const names = steppedFields(kind)
  const statistics = names.map(columnName).map((column) => `min(${column}), avg(${column}), max(${column})`)
  const stepMs = stepSeconds * 1_000
  const startMs = Math.min(...ranges.map(({ fromMs }) => fromMs))
  const steps: HistoryStep[] = []
  let toMs = Math.ceil(Math.max(...ranges.map((range) => range.toMs)) / stepMs) * stepMs
  for (let stretch = limit * stepMs; toMs > startMs && steps.length < limit; stretch *= stretchGrowth) {
    const owned = ownedRows(deviceId, clipRanges(ranges, toMs - stretch, toMs), modem)
    toMs -= stretch
    if (!owned) continue
    const rows = await questdb.queryArrays(
      `SELECT timestamp_floor('${stepSeconds}s', ts) step, count() samples, ${statistics.join(', ')}
       FROM ${kind} WHERE ${owned.text} GROUP BY step ORDER BY step DESC LIMIT $${owned.values.length + 1}`,
      [...owned.values, limit - steps.length],
    )
    for (const row of rows) steps.push(stepOf(kind, names, row))
  }
  return steps
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
