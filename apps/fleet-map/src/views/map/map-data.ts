import { useMemo, useState } from 'preact/hooks'
import { get, readPages } from '../../api/client.ts'
import type { DeadZone } from '../../api/schemas.ts'
import { type Resource, useResource } from '../../components/resource.ts'
import type { Thresholds } from '../../state/coverage.ts'
import { readTrack } from '../../state/history.ts'
import { completeFromMs } from '../../state/history-row.ts'
import { shownModem } from '../../state/modems.ts'
import { holdsSomewhere } from '../../state/session.ts'
import { ofModem, type RadioHistory, radioHistory, trailUntil } from '../../state/trail.ts'
import { pastQuery, scopeQuery, useLatest, type useSelected } from './fleet-data.ts'
import { type MapPlace, shownMs } from './map-place.ts'

const zonesPerPage = 50
const none: never[] = []

/** Reads the bounds of the signal classes; empty lists until they are known. */
export function useThresholds(): Thresholds {
  const { value } = useResource('thresholds', (signal) => get('/signal-thresholds', { signal }))
  return useMemo(() => ({ rsrpDbm: value?.rsrpDbm ?? [], sinrDb: value?.sinrDb ?? [] }), [value])
}

/** The dead zones of the panel, worst first. */
export type DeadZones = {
  items: readonly DeadZone[]
  /** The zone in the address if it is not among the items; null if it is no dead zone. */
  linked?: DeadZone | null | undefined
  /** Reads further zones; undefined if there are none. */
  more: (() => void) | undefined
}

/**
 * Reads the dead zones while their panel is open: the worst, further ones on demand, and the one in the address. `selected` is the
 * latter.
 */
export function useDeadZones(here: MapPlace) {
  const { filter, panel, zoneId } = here
  const isOpen = panel === 'dead-zones'
  const query = { ...scopeQuery(filter), ...pastQuery(here), plmn: filter.plmn }
  const [most, setMost] = useState(zonesPerPage)
  const read = useResource(
    isOpen ? JSON.stringify(['dead zones', query, most]) : 'no dead zones',
    async (signal) =>
      isOpen ? readPages('/fleet/dead-zones', { query, limit: zonesPerPage, most, signal }) : undefined,
    { everyMs: 60_000 },
  )
  // The list stays while a longer one is read.
  const before = useLatest(read.value, isOpen && !read.error)
  const page = read.value ?? before
  const listed = page?.items.find(({ id }) => id === zoneId)
  const isLinked = zoneId !== null && page !== undefined && !listed
  const alone = useResource(isLinked ? JSON.stringify(['dead zone', query, zoneId]) : 'no dead zone', async (signal) =>
    isLinked ? (await get('/fleet/dead-zones', { signal, query: { ...query, zoneId } })).items : none,
  )
  const linked = isLinked && alone.value ? (alone.value[0] ?? null) : undefined
  const value = useMemo(
    () => page && { items: page.items, linked, more: page.nextCursor ? () => setMost(most + zonesPerPage) : undefined },
    [page, linked, most],
  )
  const selected = listed ?? linked ?? undefined
  const zones: Resource<DeadZones> = { ...read, value }
  const isLoading = isOpen && !read.error && (!page || (isLinked && alone.loading))
  return { zones, selected, cells: selected?.cells ?? none, isLoading }
}

/**
 * Reads the signal history of the selected device, of the modem that is shown. `trail` is its path up to the moment of the time
 * slider. `completeFromMs`: from when on both are complete; null if they are as a whole.
 */
export function useSelectedTrack(here: MapPlace, { selected, isLoading }: ReturnType<typeof useSelected>) {
  const { deviceId, filter, range } = here
  const atMs = shownMs(here)
  const { sinceMinutes } = filter
  const modem = shownModem(selected, here.modem)?.modem ?? null
  // Until it is known whether the device has several modems.
  const isUnknown = selected === undefined && isLoading
  const mayRead = holdsSomewhere('telemetry:read')
  const track = useResource(
    `track ${deviceId} ${sinceMinutes} ${range?.fromMs} ${range?.toMs} ${mayRead}`,
    async (signal) => (deviceId && mayRead ? readTrack(deviceId, { sinceMinutes, range }, signal) : undefined),
    { everyMs: 30_000 },
  )
  const history = useMemo(
    () => (track.value && !isUnknown ? radioHistory(ofModem(track.value, modem)) : undefined),
    [track.value, modem, isUnknown],
  )
  const trail = useMemo(() => (deviceId && history ? trailUntil(history.trail, atMs) : none), [history, atMs, deviceId])
  const radio: Resource<RadioHistory> = { ...track, value: history }
  const fromMs = useMemo(
    () => (track.value ? completeFromMs(track.value.cellular, track.value.fixes) : null),
    [track.value],
  )
  return { radio, trail, completeFromMs: fromMs }
}
