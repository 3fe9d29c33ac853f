import { useMemo } from 'preact/hooks'
import { get } from '../../api/client.ts'
import { type Resource, useResource } from '../../components/resource.ts'
import type { Thresholds } from '../../state/coverage.ts'
import { readTrack } from '../../state/history.ts'
import { shownModem } from '../../state/modems.ts'
import { holdsSomewhere } from '../../state/session.ts'
import { ofModem, type RadioHistory, radioHistory, trailUntil } from '../../state/trail.ts'
import { pastQuery, scopeQuery, type useSelected } from './fleet-data.ts'
import { type MapPlace, shownMs } from './map-place.ts'

const maxZones = 50
const none: never[] = []

/** Reads the bounds of the signal classes; empty lists until they are known. */
export function useThresholds(): Thresholds {
  const { value } = useResource('thresholds', (signal) => get('/signal-thresholds', { signal }))
  return useMemo(() => ({ rsrpDbm: value?.rsrpDbm ?? [], sinrDb: value?.sinrDb ?? [] }), [value])
}

/** Reads the dead zones while their panel is open. `cells` are those of the selected zone. */
export function useDeadZones(here: MapPlace) {
  const { filter, panel, zoneId } = here
  const isOpen = panel === 'dead-zones'
  const query = { ...scopeQuery(filter), ...pastQuery(here), plmn: filter.plmn, limit: maxZones }
  const zones = useResource(
    isOpen ? JSON.stringify(['dead zones', query]) : 'no dead zones',
    async (signal) => (isOpen ? (await get('/fleet/dead-zones', { signal, query })).items : none),
    { everyMs: 60_000 },
  )
  const cells = useMemo(
    () => (isOpen ? zones.value?.find(({ id }) => id === zoneId)?.cells : undefined) ?? none,
    [isOpen, zones.value, zoneId],
  )
  return { zones, cells }
}

/**
 * Reads the signal history of the selected device, of the modem that is shown. `trail` is its path up to the moment of the time
 * slider.
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
  return { radio, trail }
}
