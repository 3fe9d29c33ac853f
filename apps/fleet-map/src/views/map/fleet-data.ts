import { useMemo, useRef } from 'preact/hooks'
import { type ApiError, get, tilesAddress } from '../../api/client.ts'
import type { Operation, QueryOf } from '../../api/operations.ts'
import type { Device, FleetDevice, TileJson } from '../../api/schemas.ts'
import { useResource } from '../../components/resource.ts'
import { type FleetFilter, readDevices, readDeviceWithModems } from '../../state/fleet.ts'
import { rangeQuery } from '../../state/history.ts'
import { isSearch, type MapPlace } from './map-place.ts'

const refreshMs = 5_000
const searchRefreshMs = 30_000
const typingPauseMs = 150
const maxHits = 100
const none: never[] = []

type Phase = 'loading' | 'live' | 'stale' | 'refused'

/** What the page knows of the devices of a filter without reading them. */
export type Overview = {
  devices: number
  bounds: NonNullable<TileJson['fleet']>['bounds']
  operators: { plmn: string; name: string }[]
  hasCoverage: boolean
  /** When the history of the plan begins, if that shortens the time range; null otherwise. */
  historyFromMs: number | null
  /** Whether the service has answered at all. */
  isKnown: boolean
  phase: Phase
  error: ApiError | undefined
}

/** Follows the number of devices, their box and their operators. */
export function useOverview(here: MapPlace): Overview {
  const query = { ...deviceQuery(here), ...pastQuery(here), layers: ['devices' as const, 'coverage' as const] }
  const { value, error } = useResource(
    JSON.stringify(['overview', query]),
    (signal) => get('/fleet/tiles.json', { signal, query }),
    { everyMs: refreshMs },
  )
  const isRefused = error?.status === 403 || error?.status === 404
  return {
    devices: value?.fleet?.devices ?? 0,
    bounds: value?.fleet?.bounds ?? null,
    operators: value?.fleet?.operators ?? none,
    hasCoverage: value?.vector_layers.some(({ id }) => id === 'coverage') ?? true,
    historyFromMs: value?.window.limitedBy === 'plan' ? Date.parse(value.window.from) : null,
    isKnown: value !== undefined,
    phase: isRefused ? 'refused' : error ? 'stale' : value ? 'live' : 'loading',
    error,
  }
}

/** A device that a search found. `location` is undefined until it is known. */
export type Hit = Pick<FleetDevice, 'deviceId' | 'name' | 'status'> & Partial<Pick<FleetDevice, 'location'>>

export type SearchResult = {
  /** In the order of their names. */
  hits: readonly Hit[]
  /** The hits as the map shows them, or those of a shorter search text until these are known; undefined if there are none yet. */
  devices: readonly FleetDevice[] | undefined
  /** False if there are more. */
  isComplete: boolean
  error: ApiError | undefined
}

/**
 * Searches devices by name, serial or model, and follows the first 100. Undefined without a search or its first result. The names are
 * there before the positions, unless a filter of the map can hide a device.
 */
export function useFound(here: MapPlace): SearchResult | undefined {
  const { filter, nameContains, status } = here
  const isSearching = isSearch(nameContains)
  const query = {
    ...{ orgId: filter.org, q: nameContains.trim(), status, tag: tagsOf(filter), limit: maxHits },
    signal: signalsOf(filter),
  }
  const search = useResource(
    isSearching ? JSON.stringify(['find', query]) : 'find nothing',
    async (signal) => {
      if (!isSearching) return undefined
      await new Promise((resolve) => setTimeout(resolve, typingPauseMs))
      return signal.aborted ? undefined : get('/devices', { signal, query })
    },
    { everyMs: searchRefreshMs },
  )
  const page = useLatest(search.value, isSearching)
  const ids = useMemo(() => page?.items.map(({ id }) => id) ?? none, [page])
  const located = useDevices(here, ids).value
  const onMap = useMemo(() => (page && located ? byName([...located.devices.values()]) : undefined), [page, located])
  const devices = useLatest(onMap, isSearching)
  const { error } = search
  const found = useMemo((): SearchResult | undefined => {
    if (error) return { hits: none, devices: none, isComplete: true, error }
    const hits = onMap ?? (page && !canHide(filter) ? byName(page.items.map(hitOf)) : undefined)
    return page && hits && { hits, devices, isComplete: page.nextCursor === null, error: undefined }
  }, [page, onMap, devices, error])
  return useLatest(found, isSearching)
}

const hitOf = ({ id, name, status }: Device): Hit => ({ deviceId: id, name, status })

const byName = <Named extends { name: string }>(devices: readonly Named[]): Named[] =>
  devices.toSorted((a, b) => a.name.localeCompare(b.name))

/** Whether the map can hide a device that `GET /devices` returns. */
const canHide = ({ group, rat, plmn }: FleetFilter): boolean => group !== '' || rat !== '' || plmn !== ''

/** Follows devices by their ids. Leaves out those that do not match the filter. */
function useDevices({ filter }: Pick<MapPlace, 'filter'>, ids: readonly string[], everyMs = refreshMs) {
  const { rat, plmn } = filter
  const query = { ...scopeQuery(filter), rat, plmn }
  return useResource(
    JSON.stringify(['devices', query, ids]),
    (signal) => readDevices(ids, query, signal),
    ids.length > 0 ? { everyMs } : {},
  )
}

/** Follows the selected device and its modems, whatever the filters are. */
export function useSelected({ filter: { org, sinceMinutes }, deviceId }: MapPlace) {
  const query = { orgId: org, sinceMinutes }
  const { value, loading } = useResource(
    JSON.stringify(['selected', query, deviceId]),
    async (signal) => (deviceId ? readDeviceWithModems(deviceId, query, signal) : undefined),
    { everyMs: refreshMs },
  )
  const device = useLatest(value?.device)
  return {
    selected: device?.deviceId === deviceId ? device : undefined,
    isLoading: loading,
    limitedBy: value?.limitedBy ?? null,
  }
}

/**
 * Returns the addresses of the tiles that the map draws. A search replaces the devices of the tiles, except in a range in the past,
 * because it finds present positions. None until the map is placed: the
 * tiles of the world, which it would leave at once, take as long as those of the fleet.
 */
export function useTileAddresses(here: MapPlace, found: SearchResult | undefined, isPlaced: boolean) {
  const { filter, metric } = here
  const { rat, plmn } = filter
  const layers = metric === 'off' ? ['dwells' as const] : ['coverage' as const, 'dwells' as const]
  const devices =
    (found?.devices && !here.range) || !isPlaced
      ? null
      : tilesAddress({ ...deviceQuery(here), ...pastQuery(here), layers: ['devices' as const] })
  const areas = isPlaced ? tilesAddress({ ...scopeQuery(filter), ...pastQuery(here), rat, plmn, layers }) : null
  return useMemo(() => ({ devices, areas }), [devices, areas])
}

type Signals = QueryOf<Operation<'get', '/fleet/tiles.json'>>['signal']

const signalsOf = ({ signal }: FleetFilter) => (signal ? (signal.split(',') as NonNullable<Signals>) : null)

const tagsOf = ({ tag }: FleetFilter) => (tag ? tag.split(',') : null)

/** Returns the parameters for which organization, group, tags and time window are read. */
export const scopeQuery = (filter: FleetFilter) => ({
  orgId: filter.org,
  groupId: filter.group,
  tag: tagsOf(filter),
  sinceMinutes: filter.sinceMinutes,
})

/** Returns the parameters of a range in the past, for which the map, its coverage and its dead zones are read. */
export const pastQuery = ({ range }: Pick<MapPlace, 'range'>) => (range ? rangeQuery(range) : {})

const deviceQuery = ({ filter, status }: MapPlace) => ({
  ...scopeQuery(filter),
  status,
  rat: filter.rat,
  plmn: filter.plmn,
  signal: signalsOf(filter),
})

/** Returns the newest value that is not undefined, of those since `isKept`. */
export function useLatest<Value>(value: Value | undefined, isKept = true): Value | undefined {
  const latest = useRef<Value | undefined>(undefined)
  if (!isKept) latest.current = undefined
  else if (value !== undefined) latest.current = value
  return latest.current
}
