import { get, readPages } from '../api/client.ts'
import type { LatestTelemetry } from '../api/schemas.ts'
import { type HistoryRow, mostRows } from './history-row.ts'
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

/** Reads the rows of one kind, oldest first: the newest `mostRows` of the time window. */
export async function readHistory(
  deviceId: string,
  { kind, sinceMinutes, range }: TimeSpan & { kind: 'cellular' | 'connection' | 'location' },
  signal: AbortSignal,
): Promise<HistoryRow[]> {
  const query = { kind, ...spanQuery({ sinceMinutes, range }) }
  const options = { query, limit: mostRows / 2, most: mostRows, signal }
  const rows: HistoryRow[] = (await readPages(telemetryPath(deviceId, 'history'), options)).items
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
