import { useMemo } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { DeadZone, Page } from '../api/types.ts'
import { type Resource, useResource } from '../components/resource.ts'
import type { Thresholds } from '../state/coverage.ts'
import { type RadioHistory, radioHistory, readTrack, trailUntil } from '../state/trail.ts'
import { pastQuery, scopeQuery } from './fleet-data.ts'
import type { MapPlace } from './map-place.ts'

const maxZones = 50
const none: never[] = []

/** Reads the bounds of the signal classes; empty lists until they are known. */
export function useThresholds(): Thresholds {
  const { value } = useResource('thresholds', (signal) => call<Thresholds>('/signal-thresholds', { signal }))
  return useMemo(() => ({ rsrpDbm: value?.rsrpDbm ?? [], sinrDb: value?.sinrDb ?? [] }), [value])
}

/** Reads the dead zones while their panel is open. `cells` are those of the selected zone. */
export function useDeadZones(here: MapPlace) {
  const { filter, panel, zoneId } = here
  const isOpen = panel === 'dead-zones'
  const query = { ...scopeQuery(filter), ...pastQuery(here), plmn: filter.plmn, limit: maxZones }
  const zones = useResource(
    isOpen ? JSON.stringify(['dead zones', query]) : 'no dead zones',
    async (signal) => (isOpen ? (await call<Page<DeadZone>>('/fleet/dead-zones', { signal, query })).items : none),
    { everyMs: 60_000 },
  )
  const cells = useMemo(
    () => (isOpen ? zones.value?.find(({ id }) => id === zoneId)?.cells : undefined) ?? none,
    [isOpen, zones.value, zoneId],
  )
  return { zones, cells }
}

/** Reads the signal history of the selected device. `trail` is its path up to the moment of the time slider. */
export function useSelectedTrack({ deviceId, filter: { sinceMinutes }, range, atMs }: MapPlace) {
  const track = useResource(
    `track ${deviceId} ${sinceMinutes} ${range?.fromMs} ${range?.toMs}`,
    async (signal) => (deviceId ? readTrack(deviceId, { sinceMinutes, range }, signal) : undefined),
    { everyMs: 30_000 },
  )
  const history = useMemo(() => (track.value ? radioHistory(track.value) : undefined), [track.value])
  const trail = useMemo(() => (deviceId && history ? trailUntil(history.trail, atMs) : none), [history, atMs, deviceId])
  const radio: Resource<RadioHistory> = { ...track, value: history }
  return { radio, trail }
}
