import { get } from '../api/client.ts'
import type { ChartBand, ChartSeries } from '../components/chart.tsx'
import { telemetryPath } from './history.ts'
import { type UsedDay, usedDay } from './used-day.ts'

/** Lines over the same times, as a chart shows them. */
export type Lines = { times: number[]; series: ChartSeries[] }

/** A field whose mean is drawn, with the name of its line if it is the only one. */
export type DrawnField = { field: string; label: string; unit: string; digits?: number }

type StepsOf = { kind: 'cellular' | 'connection' | 'system'; modem: string | null; minutes: number }

const steps = 288
/** A minute is the shortest step that is worth a point. */
const shortestStepS = 60

/** The length of the steps of a chart over so many minutes. */
export const stepSecondsOf = (minutes: number): number => Math.max(shortestStepS, Math.ceil((minutes * 60) / steps))

/** The mean of each field in each step of the last minutes, by the start of the step in milliseconds. */
async function readSteps(deviceId: string, { kind, modem, minutes }: StepsOf, signal: AbortSignal) {
  const query = { kind, modem, sinceMinutes: minutes, stepSeconds: stepSecondsOf(minutes), limit: 2 * steps }
  const { items } = await get(telemetryPath(deviceId, 'history'), { signal, query })
  const means = new Map<number, Record<string, { mean: number }>>()
  for (const item of items) if ('fields' in item) means.set(Date.parse(item.ts), item.fields)
  return means
}

const colors = ['var(--accent)', 'var(--warn)', 'var(--ok)', 'var(--bad)']

/** The means of each modem in each step. */
export type Means = { modem: string | null; steps: ReadonlyMap<number, Record<string, { mean: number }>> }[]

/** Reads the means of one kind. `modems`: their names; null for a router that does not name its modem. */
export const readMeans = (
  deviceId: string,
  { kind, modems, minutes }: { kind: StepsOf['kind']; modems: readonly (string | null)[]; minutes: number },
  signal: AbortSignal,
): Promise<Means> =>
  Promise.all(
    modems.map(async (modem) => ({ modem, steps: await readSteps(deviceId, { kind, modem, minutes }, signal) })),
  )

/** Whether any step has the field. */
export const hasField = (means: Means, field: string): boolean =>
  means.some(({ steps }) => [...steps.values()].some((fields) => field in fields))

/** One line for each modem. A step without samples is a gap. */
export function linesOf(means: Means, minutes: number, { field, label, unit, digits = 0 }: DrawnField): Lines {
  const present = means.flatMap(({ steps: of }) => [...of].flatMap(([at, fields]) => (fields[field] ? [at] : [])))
  const [first, last] = [Math.min(...present), Math.max(...present)]
  const stepMs = stepSecondsOf(minutes) * 1_000
  const count = present.length === 0 ? 0 : Math.round((last - first) / stepMs) + 1
  const times = Array.from({ length: count }, (_, index) => first + index * stepMs)
  const series = means.map(({ modem, steps: of }, index) => ({
    ...{ label: modem ?? label, unit, digits, color: colors[index % colors.length] ?? 'var(--accent)' },
    values: times.map((at) => of.get(at)?.[field]?.mean ?? null),
  }))
  return { times, series }
}

/** The dwells of a device and the times in which none of its modems had service, as bands behind its charts. */
export const bandsOf = (
  dwells: readonly { arrivedAt: string; departedAt: string | null }[],
  outages: readonly { from: string; to: string }[],
): ChartBand[] => [
  ...dwells.map(({ arrivedAt, departedAt }) => ({
    ...{ fromMs: Date.parse(arrivedAt), toMs: departedAt === null ? Date.now() : Date.parse(departedAt) },
    color: 'var(--text-faint)',
  })),
  ...outages.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to), color: 'var(--bad)' })),
]

export const dayMs = 86_400_000

/** The start of the present UTC day. */
export const todayMs = (): number => Math.floor(Date.now() / dayMs) * dayMs

/**
 * What all modems of a device received and sent on UTC days, the newest first; null for days that the plan does not show whole.
 * `lastMs` is the start of the newest.
 */
export function readUsedDays(
  deviceId: string,
  { lastMs, days }: { lastMs: number; days: number },
  signal: AbortSignal,
): Promise<UsedDay[]> {
  const starts = Array.from({ length: days }, (_, index) => lastMs - index * dayMs)
  return Promise.all(
    starts.map(async (fromMs) => {
      const query = { from: new Date(fromMs).toISOString(), to: new Date(fromMs + dayMs).toISOString() }
      return usedDay(query.from.slice(0, 10), await get(telemetryPath(deviceId, 'data-use'), { signal, query }))
    }),
  )
}
