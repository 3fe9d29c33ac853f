import { type DeviceFilter, isOpen } from '#fleet-map/filter'
import type { FleetSources } from '#fleet-map/fleet-sources'
import { filterKey, type GpsRequest } from '#fleet-map/gps/gps-request'
import {
  type Found,
  findCandidates,
  knownBase,
  type MapWindow,
  type Seen,
  type Selection,
  selectDevices,
} from '#fleet-map/gps/selection'
import type { Moment } from '#fleet-map/revisions'

const maxDevices = 100_000

/** The moment of `since`, if this process issued it. Of other processes' moments, only the time is meaningful. */
export const sinceHere = (fleet: FleetSources, { since }: GpsRequest): Moment | undefined =>
  since?.epoch === fleet.revisions.epoch ? since : undefined

const deviceFilterOf = ({ query, members, place }: GpsRequest): DeviceFilter => {
  const { bbox, tag: tags, deviceId: deviceIds, rat, plmn } = query
  return { bbox, area: place, tags, members, deviceIds, rat, plmn }
}

/** What the reader of a request already has; undefined if this process does not know it. */
function seenBefore(fleet: FleetSources, request: GpsRequest, key: string): Seen | undefined {
  const { since } = request.query
  const moment = sinceHere(fleet, request)
  const isFiltered = !isOpen(deviceFilterOf(request))
  return (
    moment && { ...moment, deviceIds: isFiltered && since !== undefined ? fleet.seen.recall(key, since) : undefined }
  )
}

/** Identifies a selection that can be cached. Group members can change without a change in the maps. */
const selectionKey = (request: GpsRequest, seen: Seen | undefined): string | undefined =>
  seen || request.members ? undefined : JSON.stringify([filterKey(request), request.cursor?.after])

/** Looks for the devices of a filter in large maps. Undefined if all requests can do with what is known. */
export async function findUnknown(
  fleet: FleetSources,
  requests: readonly GpsRequest[],
  windows: MapWindow[],
  nowMs: number,
): Promise<Found[] | undefined> {
  const isKnown = (request: GpsRequest): boolean => {
    const filter = deviceFilterOf(request)
    const seen = seenBefore(fleet, request, filterKey(request))
    const key = selectionKey(request, seen)
    const isKept = key !== undefined && fleet.selections.has(key, windows, nowMs)
    return isOpen(filter) || isKept || knownBase(windows, { filter, seen, nowMs }) !== undefined
  }
  const unknown = requests.find((request) => !isKnown(request))
  return unknown && findCandidates(windows, deviceFilterOf(unknown))
}

/** Selects the devices of a request, and finds those that left since the reader's state. */
export function select(
  fleet: FleetSources,
  request: GpsRequest,
  windows: MapWindow[],
  asOf: string,
  nowMs: number,
  found: Found[] | undefined,
) {
  const { query, cursor } = request
  const filter = deviceFilterOf(request)
  const key = filterKey(request)
  const seen = seenBefore(fleet, request, key)
  const terms = { filter, limit: maxDevices, after: cursor?.after, seen, nowMs, collectIds: !isOpen(filter), found }
  const pick = () => selectDevices(windows, terms)
  const kept = selectionKey(request, seen)
  const selection = kept === undefined ? pick() : fleet.selections.keep(kept, windows, nowMs, pick)
  if (selection.matchingIds) fleet.seen.remember(key, asOf, selection.matchingIds)
  const moment = sinceHere(fleet, request)
  if (moment) {
    const departed = windows.flatMap(({ map }) => map.goneSince(moment.revision))
    return { selection, gone: [...selection.leftIds, ...departed] }
  }
  // The reader's previous state is unknown: report all devices that the filter hides now.
  return { selection, gone: query.since === undefined ? [] : hiddenBy(selection, windows) }
}

const hiddenBy = ({ matchingIds }: Selection, windows: readonly MapWindow[]): string[] =>
  windows.flatMap(({ map }) =>
    [...map.devices()].map(({ entry }) => entry.deviceId).filter((id) => matchingIds && !matchingIds.has(id)),
  )
