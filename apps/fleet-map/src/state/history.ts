import { get, getPage } from '../api/client.ts'
import type { LatestTelemetry } from '../api/schemas.ts'
import type { HistoryRow } from './history-row.ts'
import type { SignalTrack } from './trail.ts'

/** A time range in the past. */
export type TimeRange = { fromMs: number; toMs: number }

/** The time to read: the last minutes, or a range in the past. */
export type TimeSpan = { sinceMinutes: number; range: TimeRange | null }

/** A time range as requests send it. */
export const rangeQuery = ({ fromMs, toMs }: TimeRange) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
})

/** The time to read as requests send it. */
export const spanQuery = ({ sinceMinutes, range }: TimeSpan) => (range ? rangeQuery(range) : { sinceMinutes })

// The service writes its router model segment into the document.
const modelSegment = document.querySelector<HTMLMetaElement>('meta[name=router-model-segment]')?.content ?? 'router'

export const telemetryPath = <What extends 'latest' | 'history' | 'data-use' | 'outages'>(
  deviceId: string,
  what: What,
) => `/api/${modelSegment}/${deviceId}/telemetry/${what}` as const

export const readLatest = (deviceId: string, signal: AbortSignal): Promise<LatestTelemetry> =>
  get(telemetryPath(deviceId, 'latest'), { signal })

type Page = { items: HistoryRow[]; nextCursor: string | null }

/** Reads the rows of one kind, oldest first. Returns at most the newest 20,000 of the time window. */
export async function readHistory(
  deviceId: string,
  { kind, sinceMinutes, range }: TimeSpan & { kind: 'cellular' | 'connection' | 'location' },
  signal: AbortSignal,
): Promise<HistoryRow[]> {
  const path = telemetryPath(deviceId, 'history')
  const time = spanQuery({ sinceMinutes, range })
  const rows: HistoryRow[] = []
  let cursor: string | null = null
  do {
    const page: Page = await getPage(path, { query: { kind, ...time }, cursor, limit: 10_000, signal })
    rows.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null && rows.length < 20_000)
  return rows.reverse()
}

/** Reads the positions and signal measurements of a device, both oldest first. */
export async function readTrack(deviceId: string, span: TimeSpan, signal: AbortSignal): Promise<SignalTrack> {
  const [cellular, fixes] = await Promise.all([
    readHistory(deviceId, { kind: 'cellular', ...span }, signal),
    readHistory(deviceId, { kind: 'location', ...span }, signal),
  ])
  return { cellular, fixes }
}
