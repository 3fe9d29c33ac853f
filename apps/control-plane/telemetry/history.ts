import type { FleetContext } from '#fleet/context'
import { type ReadableDevice, readableTelemetry } from '#fleet/devices/telemetry-access'
import { clockAheadMs, planStartMs, type RequestedWindow, requestedWindow, type WindowQuery } from '#fleet-map/window'
import { type HistoryPosition, historyPage } from '#questdb/history'
import { type HistoryStep, historySteps } from '#questdb/history-steps'
import type { OwnedRange } from '#questdb/owned-rows'
import type { Reader } from '#questdb/readers'
import { maskSensitive, type StoredSample, type TelemetryRecord } from '#questdb/records'
import type { QuestdbSql } from '#questdb/sql'
import { type Kind, kinds, sensitiveFieldNames } from '#telemetry/fields'

export type HistoryQuery = WindowQuery & { kind?: Kind | undefined; stepSeconds?: number | undefined }

/** Where a page ended, and when the first page was asked for: later pages keep to the same window. */
export type HistoryCursor = { nowMs: number; after: HistoryPosition }

export type HistoryItem = TelemetryRecord | HistoryStep

/** A device's history as one caller may read it, before any page of it is read. */
export type History = {
  deviceId: string
  /** When the window was settled; opened again with it, a history keeps its window. */
  nowMs: number
  window: RequestedWindow & { limitedBy: 'plan' | null }
  /** The next `limit` items behind `after`; `next` is null when there are no more. */
  page(limit: number, after?: HistoryPosition): Promise<{ items: HistoryItem[]; next: HistoryCursor | null }>
}

const defaultMinutes = 60
// A walk through pages keeps the window it began with, but a cursor is no way to keep reading what a plan has dropped.
const cursorHoldsMs = 3_600_000

/** Settles what the caller may read of a device in this window. Throws 404, 403, and 400 for a wrong window. */
export async function openHistory(
  ctx: FleetContext,
  reader: Reader,
  deviceId: string,
  query: HistoryQuery,
  cursor?: Pick<HistoryCursor, 'nowMs'>,
): Promise<History> {
  const nowMs = Math.max(cursor?.nowMs ?? 0, ctx.clock() - (cursor ? cursorHoldsMs : 0))
  const asked = requestedWindow(query, nowMs, defaultMinutes)
  const device = await readableTelemetry(ctx, deviceId)
  const earliestMs = planStartMs(Math.max(...device.intervals.map((interval) => interval.historyDays)), nowMs)
  const window = {
    ...asked,
    fromMs: Math.max(asked.fromMs, Math.min(earliestMs, asked.toMs)),
    limitedBy: asked.fromMs < earliestMs ? ('plan' as const) : null,
  }
  const ranges = readableRanges(device, window, nowMs)
  const wanted = query.kind ? [query.kind] : kinds
  const read = query.stepSeconds === undefined ? readSamples : readSteps(query.stepSeconds)
  return {
    deviceId: device.deviceId,
    nowMs,
    window,
    async page(limit, after) {
      const found = await read(reader.questdb, device, ranges, { kinds: wanted, limit: limit + 1, position: after })
      const items = found.slice(0, limit)
      const last = items.at(-1)
      const more = found.length > limit && last
      return { items, next: more ? { nowMs, after: { tsMs: Date.parse(last.ts), kind: last.kind } } : null }
    },
  }
}

function readableRanges(device: ReadableDevice, window: RequestedWindow, nowMs: number): OwnedRange[] {
  return device.intervals.map((interval) => ({
    organizationId: interval.organizationId,
    fromMs: Math.max(window.fromMs, interval.fromMs ?? 0, planStartMs(interval.historyDays, nowMs)),
    // Nothing is accepted that was measured later, and a search must not begin thousands of years ahead.
    toMs: Math.min(window.toMs, nowMs + clockAheadMs + cursorHoldsMs, interval.toMs ?? Number.POSITIVE_INFINITY),
  }))
}

type PageQuery = { kinds: readonly Kind[]; limit: number; position: HistoryPosition | undefined }
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

/** The record as this caller may see it: identities are masked without `device:sensitive` where it was measured. */
export function visibleRecord(device: ReadableDevice, sample: StoredSample): TelemetryRecord {
  if (sample.record.kind !== 'connection') return sample.record
  const owner = device.intervals.find((interval) => interval.organizationId === sample.organizationId)
  return owner?.sensitive ? sample.record : maskSensitive(sample.record, sensitiveFieldNames)
}
