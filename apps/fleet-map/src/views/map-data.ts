import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { CoverageCell, DeadZone, Dwell, MapDevice, Page } from '../api/types.ts'
import { type Resource, useResource } from '../components/resource.ts'
import type { Bounds } from '../map/surface.ts'
import { shade, type Thresholds } from '../state/coverage.ts'
import { type FleetFilter, fleet, followFleet } from '../state/fleet.ts'
import { type RadioHistory, radioHistory, readTrack, trailUntil } from '../state/trail.ts'
import type { Viewport } from './map-camera.ts'
import type { MapPlace } from './map-place.ts'

type CoverageAnswer = { window: { from: string; to: string; limitedBy: string | null }; items: CoverageCell[] }

const maxZones = 50
const maxDwells = 200
const none: never[] = []

/** Follows the fleet of the filter. Returns all of its devices, and those that also match the page's own filters. */
export function useFleetDevices({ filter, status, nameContains }: MapPlace) {
  useEffect(() => followFleet(filter), Object.values(filter))
  const { devices: all, phase, error, limitedBy } = fleet.value
  const shown = useMemo(() => {
    const wanted = nameContains.toLowerCase()
    const matches = (device: MapDevice) =>
      (status === '' || device.status === status) && device.name.toLowerCase().includes(wanted)
    return [...all.values()].filter(matches)
  }, [all, status, nameContains])
  const operators = useMemo(() => operatorsOf(all.values()), [all])
  return { all, shown, operators, phase, error, limitedBy }
}

/** Reads the coverage of the viewport. Keeps the old cells until the new ones arrive. */
export function useCoverage({ filter, metric }: MapPlace, viewport: Viewport | undefined) {
  const thresholds = useResource('thresholds', (signal) => call<Thresholds>('/signal-thresholds', { signal }))
  const bounds = useMemo<Thresholds>(
    () => ({ rsrpDbm: thresholds.value?.rsrpDbm ?? [], sinrDb: thresholds.value?.sinrDb ?? [] }),
    [thresholds.value],
  )
  const query =
    metric === 'off' || !viewport
      ? undefined
      : {
          ...queryOf(filter),
          plmn: filter.plmn,
          rat: filter.rat,
          bbox: bboxOf(viewport.bounds),
          zoom: Math.round(viewport.view.zoom),
        }
  const [hasCells, setHasCells] = useState(false)
  const answer = useResource(
    query ? JSON.stringify(['coverage', query]) : 'no coverage',
    async (signal) => query && call<CoverageAnswer>('/fleet/coverage', { signal, query }),
    // A new fleet has its first cells within a minute.
    { everyMs: hasCells ? 60_000 : 5_000 },
  )
  const cells = useLatest(metric === 'off' ? none : answer.value?.items) ?? none
  useEffect(() => setHasCells(cells.length > 0), [cells])
  const shaded = useMemo(() => (metric === 'off' ? none : shade(cells, metric, bounds)), [cells, metric, bounds])
  return { cells, shaded, thresholds: bounds, error: answer.error }
}

/** Reads the newest dwells of the devices that are shown. */
export function useDwells({ filter }: MapPlace, shown: readonly MapDevice[]): readonly Dwell[] {
  const query = { ...queryOf(filter), limit: maxDwells }
  const dwells = useResource(
    JSON.stringify(['dwells', query]),
    (signal) => call<Page<Dwell>>('/fleet/dwells', { signal, query }),
    { everyMs: 60_000 },
  )
  return useMemo(() => {
    const ids = new Set(shown.map(({ deviceId }) => deviceId))
    return (dwells.value?.items ?? []).filter(({ deviceId }) => ids.has(deviceId))
  }, [dwells.value, shown])
}

/** Reads the dead zones while their panel is open. `cells` are those of the selected zone. */
export function useDeadZones({ filter, panel, zoneId }: MapPlace) {
  const isOpen = panel === 'dead-zones'
  const query = { ...queryOf(filter), plmn: filter.plmn, limit: maxZones }
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
export function useSelectedTrack({ deviceId, filter: { sinceMinutes }, atMs }: MapPlace) {
  const track = useResource(
    `track ${deviceId} ${sinceMinutes}`,
    async (signal) => (deviceId ? readTrack(deviceId, sinceMinutes, signal) : undefined),
    { everyMs: 30_000 },
  )
  const history = useMemo(() => (track.value ? radioHistory(track.value) : undefined), [track.value])
  const trail = useMemo(() => (deviceId && history ? trailUntil(history.trail, atMs) : none), [history, atMs, deviceId])
  const radio: Resource<RadioHistory> = { ...track, value: history }
  return { radio, trail }
}

const queryOf = ({ org, group, tag, sinceMinutes }: FleetFilter) => ({
  orgId: org,
  groupId: group,
  tag: tag ? tag.split(',') : null,
  sinceMinutes,
})

/** Returns the `bbox` parameter of a viewport; null when the viewport is wider than the world or inverted. */
function bboxOf([west, south, east, north]: Bounds): string | null {
  if (east - west >= 360) return null
  const wrap = (lon: number) => ((((lon + 180) % 360) + 360) % 360) - 180
  const [from, to] = [wrap(west), wrap(east)]
  if (from >= to) return null
  return [from, Math.max(-90, south), to, Math.min(90, north)].map((degrees) => degrees.toFixed(5)).join(',')
}

function operatorsOf(devices: Iterable<MapDevice>): { plmn: string; name: string }[] {
  const names = new Map<string, string>()
  for (const { signal } of devices) if (signal?.plmn) names.set(signal.plmn, signal.operatorName ?? signal.plmn)
  return [...names].map(([plmn, name]) => ({ plmn, name })).sort((a, b) => a.name.localeCompare(b.name))
}

/** Returns the newest value that is not undefined. */
function useLatest<Value>(value: Value | undefined): Value | undefined {
  const latest = useRef<Value | undefined>(undefined)
  if (value !== undefined) latest.current = value
  return latest.current
}
