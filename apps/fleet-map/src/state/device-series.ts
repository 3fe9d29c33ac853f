import { get } from '../api/client.ts'
import type { ChartBand, ChartSeries } from '../components/chart.tsx'
import { telemetryPath } from './history.ts'

/** Lines over the same times, as a chart shows them. */
export type Lines = { times: number[]; series: ChartSeries[] }

/** A field whose mean is drawn. */
export type DrawnField = { field: string; unit: string; digits?: number }

type StepsOf = { kind: 'cellular' | 'connection' | 'system'; modem: string | null; minutes: number }

const steps = 288
/** A minute is the shortest step that is worth a point. */
const shortestStepS = 60

/** The length of the steps of a chart over so many minutes. */
const stepSecondsOf = (minutes: number): number => Math.max(shortestStepS, Math.ceil((minutes * 60) / steps))

/** The mean of each field in each step of the last minutes, by the start of the step in milliseconds. */
async function readSteps(deviceId: string, { kind, modem, minutes }: StepsOf, signal: AbortSignal) {
  const query = { kind, modem, sinceMinutes: minutes, stepSeconds: stepSecondsOf(minutes), limit: 2 * steps }
  const { items } = await get(telemetryPath(deviceId, 'history'), { signal, query })
  const means = new Map<number, Record<string, { mean: number }>>()
  for (const item of items) if ('fields' in item) means.set(Date.parse(item.ts), item.fields)
  return means
}

const colors = ['var(--accent)', 'var(--warn)', 'var(--ok)', 'var(--bad)']

/**
 * One line for each modem. `modems`: their names; null for a router that does not name its modem. A step without samples is a gap.
 */
export async function readLines(
  deviceId: string,
  { kind, modems, minutes }: { kind: StepsOf['kind']; modems: readonly (string | null)[]; minutes: number },
  { field, unit, digits = 0 }: DrawnField,
  label: string,
  signal: AbortSignal,
): Promise<Lines> {
  const known = await Promise.all(modems.map((modem) => readSteps(deviceId, { kind, modem, minutes }, signal)))
  const present = known.flatMap((means) => [...means].flatMap(([at, fields]) => (fields[field] ? [at] : [])))
  const [first, last] = [Math.min(...present), Math.max(...present)]
  const stepMs = stepSecondsOf(minutes) * 1_000
  const count = present.length === 0 ? 0 : Math.round((last - first) / stepMs) + 1
  const times = Array.from({ length: count }, (_, index) => first + index * stepMs)
  const series = known.map((means, index) => ({
    ...{ label: modems[index] ?? label, unit, digits, color: colors[index % colors.length] ?? 'var(--accent)' },
    values: times.map((at) => means.get(at)?.[field]?.mean ?? null),
  }))
  return { times, series }
}

/** The dwells of a device and its times without service, as bands behind its charts. */
export async function readBands(deviceId: string, minutes: number, signal: AbortSignal): Promise<ChartBand[]> {
  const query = { sinceMinutes: minutes }
  const [dwells, outages] = await Promise.all([
    get('/fleet/dwells', { signal, query: { ...query, deviceId, limit: 200 } }),
    get(telemetryPath(deviceId, 'outages'), { signal, query }),
  ])
  return [
    ...dwells.items.map(({ arrivedAt, departedAt }) => ({
      ...{ fromMs: Date.parse(arrivedAt), toMs: departedAt === null ? Date.now() : Date.parse(departedAt) },
      color: 'var(--text-faint)',
    })),
    ...outages.items.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to), color: 'var(--bad)' })),
  ]
}

const dayMs = 86_400_000

export type UsedDay = { day: string; rxBytes: number | null; txBytes: number | null }

/** What all modems of a device received and sent on each of the last UTC days, the newest first. */
export function readUsedDays(deviceId: string, days: number, signal: AbortSignal): Promise<UsedDay[]> {
  const midnightMs = Math.floor(Date.now() / dayMs) * dayMs
  const starts = Array.from({ length: days }, (_, index) => midnightMs - index * dayMs)
  return Promise.all(
    starts.map(async (fromMs) => {
      const query = { from: new Date(fromMs).toISOString(), to: new Date(fromMs + dayMs).toISOString() }
      const { items } = await get(telemetryPath(deviceId, 'data-use'), { signal, query })
      const sum = (direction: 'rxBytes' | 'txBytes') =>
        items.reduce<number | null>(
          (all, item) => (item[direction] === null ? all : (all ?? 0) + item[direction]),
          null,
        )
      return { day: query.from.slice(0, 10), rxBytes: sum('rxBytes'), txBytes: sum('txBytes') }
    }),
  )
}
