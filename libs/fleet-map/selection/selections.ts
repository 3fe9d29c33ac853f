import { LRUCache } from 'lru-cache'
import type { MapMoment, Revisions } from '#fleet-map/revisions'
import { type Found, findCandidates, knownBase, type MapWindow, type Seen } from '#fleet-map/selection/candidates'
import { isOpen, type MapFilter } from '#fleet-map/selection/filter'
import { type DevicePosition, type Selection, selectDevices } from '#fleet-map/selection/selection'

/** A request for devices. Its filter selects the same devices for all requests with the same `filterKey`. */
export type DeviceRequest = {
  filterKey: string
  filter: MapFilter
  /** The state that the reader has, of this process or of another one. */
  since: (MapMoment & { asOf: string }) | undefined
  after: DevicePosition | undefined
}

type SelectionMoment = { asOf: string; nowMs: number; found: Found[] | undefined }

/** Selects devices for all readers. Caches selections while the maps do not change, and which devices the readers have. */
export type Selections = {
  /** Looks for the devices of a filter in large maps. Undefined if all requests, which differ only in `since`, can do without. */
  find(requests: readonly DeviceRequest[], windows: readonly MapWindow[], nowMs: number): Promise<Found[] | undefined>
  /** Selects the devices of a request, and finds those that left since the reader's state. */
  select(
    request: DeviceRequest,
    windows: readonly MapWindow[],
    moment: SelectionMoment,
  ): { selection: Selection; gone: string[] }
  /** Estimated bytes of the cached selections, and of the ids of the readers' devices. */
  keptBytes(): { selections: number; seenDevices: number }
}

const maxDevices = 100_000
const forgottenAfterMs = 5 * 60_000
const entryBytes = 1_000
const shownDeviceBytes = 100
const idBytes = 60

type Kept = { changes: string; selection: Selection }

export function createSelections(
  revisions: Revisions,
  maxBytes: { selections: number; seenDevices: number },
): Selections {
  const kept = new LRUCache<string, Kept>({
    maxSize: maxBytes.selections,
    sizeCalculation: ({ changes, selection }, key) =>
      entryBytes +
      2 * (key.length + changes.length) +
      selection.devices.length * shownDeviceBytes +
      (selection.matchingIds?.size ?? 0) * idBytes,
    ttl: forgottenAfterMs,
  })
  /** The devices of responses by `asOf` and filter. The ids are the registry's strings; each set holds references to them. */
  const seenIds = new LRUCache<string, ReadonlySet<string>>({
    maxSize: maxBytes.seenDevices,
    sizeCalculation: (deviceIds, key) => entryBytes + 2 * key.length + deviceIds.size * idBytes,
  })

  const seenBefore = ({ filterKey, filter, since }: DeviceRequest): Seen | undefined => {
    const moment = revisions.own(since)
    return moment && { ...moment, deviceIds: isOpen(filter) ? undefined : seenIds.get(`${moment.asOf} ${filterKey}`) }
  }
  /** Identifies a selection that can be cached. Group members can change without a change in the maps. */
  const selectionKey = ({ filterKey, filter, after }: DeviceRequest, seen: Seen | undefined): string | undefined =>
    seen || filter.members ? undefined : JSON.stringify([filterKey, after])
  const cached = (key: string | undefined, windows: readonly MapWindow[], nowMs: number): Selection | undefined => {
    const known = key === undefined ? undefined : kept.get(key)
    return known?.changes === changesOf(windows) && nowMs < known.selection.validUntilMs ? known.selection : undefined
  }

  return {
    async find(requests, windows, nowMs) {
      const isKnown = (request: DeviceRequest): boolean => {
        const { filter } = request
        const seen = seenBefore(request)
        const isCached = cached(selectionKey(request, seen), windows, nowMs) !== undefined
        return isOpen(filter) || isCached || knownBase(windows, { filter, seen }) !== undefined
      }
      const unknown = requests.find((request) => !isKnown(request))
      return unknown && findCandidates(windows, unknown.filter)
    },
    select(request, windows, { asOf, nowMs, found }) {
      const { filterKey, filter, after, since } = request
      const seen = seenBefore(request)
      const key = selectionKey(request, seen)
      const terms = { filter, limit: maxDevices, after, seen, nowMs, collectIds: !isOpen(filter), found }
      const selection = cached(key, windows, nowMs) ?? selectDevices(windows, terms)
      if (key !== undefined) kept.set(key, { changes: changesOf(windows), selection })
      const answer = `${asOf} ${filterKey}`
      if (selection.matchingIds && !seenIds.has(answer)) seenIds.set(answer, selection.matchingIds)
      if (seen) {
        const departed = windows.flatMap(({ map }) => map.goneSince(seen.revision))
        return { selection, gone: [...selection.leftIds, ...departed] }
      }
      // The reader's previous state is unknown: report all devices that the filter hides now.
      return { selection, gone: since ? hiddenBy(selection, windows) : [] }
    },
    keptBytes: () => ({ selections: kept.calculatedSize, seenDevices: seenIds.calculatedSize }),
  }
}

const changesOf = (windows: readonly MapWindow[]): string =>
  windows.map(({ map }) => `${map.organizationId} ${map.changedAt()}`).join()

const hiddenBy = ({ matchingIds }: Selection, windows: readonly MapWindow[]): string[] =>
  windows.flatMap(({ map }) =>
    [...map.devices()].map(({ entry }) => entry.deviceId).filter((id) => matchingIds && !matchingIds.has(id)),
  )
