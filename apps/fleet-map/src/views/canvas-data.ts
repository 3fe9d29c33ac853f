import { useEffect, useMemo, useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { CoverageCell, Dwell, MapDevice, Page } from '../api/types.ts'
import { useResource } from '../components/resource.ts'
import type { Bounds } from '../map/surface.ts'
import { shade, type Thresholds } from '../state/coverage.ts'
import { fleet, followFleet } from '../state/fleet.ts'
import { pastQuery, scopeQuery, useLatest } from './fleet-data.ts'
import type { Viewport } from './map-camera.ts'
import type { MapPlace } from './map-place.ts'

const maxDwells = 200
const none: never[] = []

/**
 * Reads what the 2D canvas draws, because it cannot draw tiles: all devices of the filter, the coverage of the viewport and
 * the newest dwells. Reads nothing while `isActive` is false.
 */
export function useCanvasData(
  here: MapPlace,
  thresholds: Thresholds,
  viewport: Viewport | undefined,
  isActive: boolean,
) {
  const { filter, status } = here
  useEffect(() => (isActive ? followFleet(filter) : undefined), [isActive, ...Object.values(filter)])
  const all = fleet.value.devices
  const devices = useMemo(
    () => (isActive ? [...all.values()].filter((device) => status === '' || device.status === status) : none),
    [isActive, all, status],
  )
  return {
    devices,
    coverage: useCoverage(here, thresholds, isActive ? viewport : undefined),
    dwells: useDwells(here, devices, isActive),
  }
}

/** Reads the coverage of the viewport. Keeps the old cells until the new ones arrive. */
function useCoverage(here: MapPlace, thresholds: Thresholds, viewport: Viewport | undefined) {
  const { filter, metric } = here
  const query =
    metric === 'off' || !viewport
      ? undefined
      : {
          ...scopeQuery(filter),
          ...pastQuery(here),
          plmn: filter.plmn,
          rat: filter.rat,
          bbox: bboxOf(viewport.bounds),
          zoom: Math.round(viewport.view.zoom),
        }
  const [hasCells, setHasCells] = useState(false)
  const answer = useResource(
    query ? JSON.stringify(['coverage', query]) : 'no coverage',
    async (signal) => query && call<{ items: CoverageCell[] }>('/fleet/coverage', { signal, query }),
    // A new fleet has its first cells within a minute.
    { everyMs: hasCells ? 60_000 : 5_000 },
  )
  const cells = useLatest(metric === 'off' ? none : answer.value?.items) ?? none
  useEffect(() => setHasCells(cells.length > 0), [cells])
  return useMemo(() => (metric === 'off' ? none : shade(cells, metric, thresholds)), [cells, metric, thresholds])
}

/** Reads the newest dwells of these devices. */
function useDwells(here: MapPlace, devices: readonly MapDevice[], isActive: boolean): readonly Dwell[] {
  const { sinceMinutes, ...scope } = scopeQuery(here.filter)
  const query = { ...scope, ...(here.range ? pastQuery(here) : { sinceMinutes }), limit: maxDwells }
  const dwells = useResource(
    isActive ? JSON.stringify(['dwells', query]) : 'no dwells',
    async (signal) => (isActive ? call<Page<Dwell>>('/fleet/dwells', { signal, query }) : undefined),
    { everyMs: 60_000 },
  )
  return useMemo(() => {
    const ids = new Set(devices.map(({ deviceId }) => deviceId))
    return (dwells.value?.items ?? []).filter(({ deviceId }) => ids.has(deviceId))
  }, [dwells.value, devices])
}

/** Returns the `bbox` parameter of a viewport; null when the viewport is wider than the world or inverted. */
function bboxOf([west, south, east, north]: Bounds): string | null {
  if (east - west >= 360) return null
  const wrap = (lon: number) => ((((lon + 180) % 360) + 360) % 360) - 180
  const [from, to] = [wrap(west), wrap(east)]
  if (from >= to) return null
  return [from, Math.max(-90, south), to, Math.min(90, north)].map((degrees) => degrees.toFixed(5)).join(',')
}
