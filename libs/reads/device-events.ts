import { alertEvents } from '#alerts/inbox/device-events'
import { authorize, holds } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { actorNames } from '#fleet/audit/actor-names'
import type { FleetContext } from '#fleet/context'
import { findDevice } from '#fleet/devices/device'
import { auditedEvents, type DeviceEvent, jobEvents } from '#fleet/devices/events'
import { readableTelemetry } from '#fleet/devices/telemetry-access'
import type { Page, PageRequest } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { clockAheadMs } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import type { OwnedRange } from '#questdb/device/owned-rows'
import { readableRanges } from './history.ts'
import { type MeasuredKind, measuredEvents, measuredKinds } from './measured-events.ts'

export type EventKind = DeviceEvent['kind']

/** The scope that each kind of event needs beside `device:read`. */
const scopeOfKind: Record<EventKind, Scope> = {
  status: 'device:read',
  change: 'audit:read',
  job: 'job:read',
  alert: 'alert:read',
  reboot: 'telemetry:read',
  handover: 'telemetry:read',
  fault: 'telemetry:read',
  report: 'telemetry:read',
}
export const eventKinds = Object.keys(scopeOfKind) as EventKind[]

type ListedEvent = {
  id: string
  at: string
  kind: EventKind
  action: string
  by: string | null
  byName: string | null
  detail: Record<string, unknown>
}

/** A position in the stream: newest first, events of the same millisecond by descending id. */
type Position = { atMs: number; id: string }

/** The kinds that the caller asked for and cannot read are in `omitted`. */
type EventPage = Page<ListedEvent> & { omitted: EventKind[] }

/** Slices of telemetry that a page reads: more only while it has no event. Such a page is not full. */
const usualSlices = 4
const maxSlices = 13
/** Sorts behind every id. */
const beyondIds = '~'

/**
 * A page of a device's events, newest first (`device:read`). Kinds whose scope the caller lacks are left out, except that a
 * single such kind throws 403. Throws 404.
 */
export async function listDeviceEvents(
  ctx: FleetContext,
  reader: Reader,
  { deviceId, kinds, page }: { deviceId: string; kinds: readonly EventKind[]; page: PageRequest },
): Promise<EventPage> {
  const device = await findDevice(ctx, ctx.pool, deviceId, 'device:read')
  const { organizationId } = device
  const [only] = kinds
  if (kinds.length === 1 && only) authorize(ctx.principal, organizationId, scopeOfKind[only])
  const readable = new Set(kinds.filter((kind) => holds(ctx.principal, organizationId, scopeOfKind[kind])))
  const nowMs = ctx.clock()
  const source: Source = {
    ctx,
    reader,
    organizationId,
    deviceId: device.id,
    kinds: readable,
    ranges: await rangesOf(ctx, organizationId, device.id, readable, nowMs),
  }
  let position = positionOf(page.after) ?? { atMs: nowMs + clockAheadMs, id: beyondIds }
  const events: DeviceEvent[] = []
  let isEnd = false
  for (let slice = 0; events.length < page.limit && !isEnd; slice++) {
    if (slice >= (events.length > 0 ? usualSlices : maxSlices)) break
    const found = await readSlice(source, position, page.limit - events.length)
    events.push(...found.events)
    isEnd = found.next === null
    if (found.next) position = found.next
  }
  return {
    items: await named(ctx, organizationId, events),
    nextAfter: isEnd ? null : `${position.atMs}|${position.id}`,
    omitted: kinds.filter((kind) => !readable.has(kind)),
  }
}

function positionOf(text: string | undefined): Position | undefined {
  if (text === undefined) return undefined
  const split = text.indexOf('|')
  return { atMs: Number(text.slice(0, split)), id: text.slice(split + 1) }
}

type Source = {
  ctx: FleetContext
  reader: Reader
  organizationId: string
  deviceId: string
  kinds: ReadonlySet<EventKind>
  ranges: readonly OwnedRange[]
}

/** The telemetry that the present owner measured and its plan includes. */
async function rangesOf(
  ctx: FleetContext,
  organizationId: string,
  deviceId: string,
  kinds: ReadonlySet<EventKind>,
  nowMs: number,
): Promise<OwnedRange[]> {
  if (!measuredKinds.some((kind) => kinds.has(kind))) return []
  const { intervals } = await readableTelemetry(ctx, { deviceId })
  const own = intervals.filter((interval) => interval.organizationId === organizationId && interval.toMs === null)
  return readableRanges({ intervals: own }, { fromMs: 0, toMs: nowMs + clockAheadMs }, nowMs)
}

/** The next events after a position, and where the next slice begins; null at the end of the stream. */
async function readSlice(
  source: Source,
  position: Position,
  limit: number,
): Promise<{ events: DeviceEvent[]; next: Position | null }> {
  const { reader, deviceId, ranges, kinds } = source
  const untilMs = position.atMs
  const wanted = new Set(measuredKinds.filter((kind): kind is MeasuredKind => kinds.has(kind)))
  const [measured, recorded] = await Promise.all([
    measuredEvents(reader.questdb, deviceId, ranges, { untilMs, kinds: wanted }),
    recordedEvents(source, untilMs, limit + spare),
  ])
  const { afterMs } = measured
  const following = [...measured.events, ...recorded]
    .filter((event) => isAfter(event, position) && (afterMs === null || event.atMs > afterMs))
    .sort((a, b) => (isAfter(a, b) ? 1 : -1))
  const events = following.slice(0, limit)
  const last = events.at(-1)
  if (following.length > limit && last) return { events, next: { atMs: last.atMs, id: last.id } }
  return { events, next: afterMs === null ? null : { atMs: afterMs, id: beyondIds } }
}

/** Events of the position's own millisecond that the statements return again. */
const spare = 50

/** Whether an event comes after another in the stream. */
const isAfter = (event: Position, other: Position): boolean =>
  event.atMs < other.atMs || (event.atMs === other.atMs && event.id < other.id)

/** What the registry recorded: the newest events of each kind. */
function recordedEvents({ ctx, organizationId, deviceId, kinds }: Source, untilMs: number, limit: number) {
  const query = { organizationId, deviceId, untilMs, limit }
  const wants = { status: kinds.has('status'), change: kinds.has('change') }
  return tenantTransaction(ctx, [organizationId], async (connection) => [
    ...(wants.status || wants.change ? await auditedEvents(connection, query, wants) : []),
    ...(kinds.has('job') ? await jobEvents(connection, query) : []),
    ...(kinds.has('alert') ? await alertEvents(connection, query) : []),
  ])
}

async function named(
  ctx: FleetContext,
  organizationId: string,
  events: readonly DeviceEvent[],
): Promise<ListedEvent[]> {
  const actors = events.flatMap(({ by }) => (by === null ? [] : [by]))
  const names = await actorNames(ctx.pool, organizationId, actors)
  return events.map(({ id, atMs, kind, action, by, detail }) => ({
    id: `${atMs}:${id}`,
    at: new Date(atMs).toISOString(),
    kind,
    action,
    by,
    byName: by === null ? null : (names.get(by) ?? null),
    detail,
  }))
}
