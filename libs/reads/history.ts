import type { FleetContext } from '#fleet/context'
import { type ReadableDevice, readableTelemetry } from '#fleet/devices/telemetry-access'
import { clockAheadMs, planStartMs, type RequestedWindow, requestedWindow, type WindowQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { type HistoryPosition, historyPage } from '#questdb/device/history'
import { type HistoryStep, historySteps } from '#questdb/device/history-steps'
import type { OwnedRange } from '#questdb/device/owned-rows'
import { maskSensitive, recordSource, type StoredSample, type TelemetryRecord } from '#questdb/device/records'
import type { QuestdbSql } from '#questdb/server/sql'
import { type Kind, kinds, sensitiveFieldNames } from '#telemetry/report/fields'
import { sourceFields } from '#telemetry/report/sources'

export type HistoryQuery = WindowQuery & {
  kind?: Kind | undefined
  modem?: string | undefined
  stepSeconds?: number | undefined
}

/** The end of a page, and the time of the first page's request. Later pages use the same window. */
export type HistoryCursor = { nowMs: number; after: HistoryPosition }

export type HistoryItem = TelemetryRecord | HistoryStep

/** A requested window without the time before the history of the plan. */
export type ReadWindow = RequestedWindow & { limitedBy: 'plan' | null }

/** The part of a device's history that a caller can read. */
export type History = {
  deviceId: string
  /** The time from which the window is calculated. Pass it to `openHistory` to get the same window again. */
  nowMs: number
  window: ReadWindow
  /** The next `limit` items after `after`; `next` is null on the last page. */
  page(limit: number, after?: HistoryPosition): Promise<{ items: HistoryItem[]; next: HistoryCursor | null }>
}

const defaultMinutes = 60
// All pages have the same window, but a cursor must not give access to data that the plan no longer includes.
const cursorHoldsMs = 3_600_000

/** Opens the part of a device's history that the caller can read. Throws 404, 403, and 400 for an invalid window. */
export async function openHistory(
  ctx: FleetContext,
  reader: Reader,
  deviceId: string,
  query: HistoryQuery,
  cursor?: Pick<HistoryCursor, 'nowMs'>,
): Promise<History> {
  const nowMs = Math.max(cursor?.nowMs ?? 0, ctx.clock() - (cursor ? cursorHoldsMs : 0))
  const { device, window } = await openWindow(ctx, deviceId, query, { nowMs, defaultMinutes })
  const ranges = readableRanges(device, window, nowMs)
  const wanted = (query.kind ? [query.kind] : kinds).filter((kind) => query.modem === undefined || hasModem(kind))
  const read = query.stepSeconds === undefined ? readSamples : readSteps(query.stepSeconds)
  return {
    deviceId: device.deviceId,
    nowMs,
    window,
    async page(limit, after) {
      const found = await read(reader.questdb, device, ranges, {
        ...{ kinds: wanted, modem: query.modem, limit: limit + 1, position: after },
      })
      const items = found.slice(0, limit)
      const last = items.at(-1)
      const more = found.length > limit && last
      return { items, next: more ? { nowMs, after: positionOf(last) } : null }
    },
  }
}

/** The device, and the window as its owners' plans allow it. Throws 404, 403, and 400 for an invalid window. */
export async function openWindow(
  ctx: FleetContext,
  deviceId: string,
  query: WindowQuery,
  { nowMs, defaultMinutes }: { nowMs: number; defaultMinutes: number },
): Promise<{ device: ReadableDevice; window: ReadWindow }> {
  const asked = requestedWindow(query, nowMs, defaultMinutes)
  const device = await readableTelemetry(ctx, { deviceId })
  const earliestMs = planStartMs(Math.max(...device.intervals.map((interval) => interval.historyDays)), nowMs)
  const fromMs = Math.max(asked.fromMs, Math.min(earliestMs, asked.toMs))
  return { device, window: { ...asked, fromMs, limitedBy: asked.fromMs < earliestMs ? 'plan' : null } }
}

const hasModem = (kind: Kind): boolean => sourceFields[kind].length > 0

/** Steps have no source. */
function positionOf(item: HistoryItem): HistoryPosition {
  const position = { tsMs: Date.parse(item.ts), kind: item.kind }
  return 'fields' in item ? position : { ...position, source: recordSource(item as TelemetryRecord) }
}

/** The ranges of the window that the caller can read, by owner. */
export function readableRanges(
  device: Pick<ReadableDevice, 'intervals'>,
  window: Pick<RequestedWindow, 'fromMs' | 'toMs'>,
  nowMs: number,
): OwnedRange[] {
  return device.intervals.map((interval) => ({
    organizationId: interval.organizationId,
    fromMs: Math.max(window.fromMs, interval.fromMs ?? 0, planStartMs(interval.historyDays, nowMs)),
    // Ingest rejects samples from later times, and a search must not start thousands of years in the future.
    toMs: Math.min(window.toMs, nowMs + clockAheadMs + cursorHoldsMs, interval.toMs ?? Number.POSITIVE_INFINITY),
  }))
}

type PageQuery = {
  kinds: readonly Kind[]
  modem: string | undefined
  limit: number
  position: HistoryPosition | undefined
}
type ReadPage = (
  questdb: QuestdbSql,
  device: ReadableDevice,
  ranges: readonly OwnedRange[],
  query: PageQuery,
) => Promise<HistoryItem[]>

const readSamples: ReadPage = async (questdb, device, ranges, query) => {
  const samples = await historyPage(questdb, device.deviceId, ranges, query)
  return samples.map((sample) => visibleRecord(device, sample))
}

const readSteps =
  (stepSeconds: number): ReadPage =>
  (questdb, device, ranges, query) =>
    historySteps(questdb, device.deviceId, ranges, { ...query, stepSeconds })

/** The record for this caller. Masks identities without `device:sensitive` in the organization of the sample. */
export function visibleRecord(device: ReadableDevice, sample: StoredSample): TelemetryRecord {
  if (sample.record.kind !== 'connection') return sample.record
  const owner = device.intervals.find((interval) => interval.organizationId === sample.organizationId)
  return owner?.sensitive ? sample.record : maskSensitive(sample.record, sensitiveFieldNames)
}
