import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { tilesAddress } from '../../api/client.ts'
import { NoMap } from '../../components/no-map.tsx'
import { outlineOf } from '../../map/area-shape.ts'
import { type Bounds, boundsOf, type Fit, maxClusterZoom, type View } from '../../map/surface.ts'
import type { LonLat } from '../../route/geometry.ts'
import { canDrawMap } from '../../state/map-support.ts'
import { MapSurface } from '../map/map-surface.tsx'
import { areaOf, type Draft } from './draft.ts'

type PlaceMapProps = {
  org: string
  draft: Draft
  /** What the map shows first; null while it is unknown. */
  home: Bounds | null
  onPoint: (point: LonLat) => void
  onFinish: () => void
  /** Receives the centre of the map after each move. */
  onLook: (centre: LonLat) => void
}

const paddingPx = { left: 40, top: 40, right: 40, bottom: 40 }
const start: View = { lon: 8, lat: 30, zoom: 1.6 }
const nothing: never[] = []
const dayMinutes = 1_440

/** The map on which an area is drawn, with the devices of the organization. */
export function PlaceMap({ org, draft, home, onPoint, onFinish, onLook }: PlaceMapProps) {
  const [fit, setFit] = useState<Fit | null>(null)
  const area = areaOf(draft)
  const isDrawing = draft.shape === 'Circle' || draft.isOpen
  const areas = useMemo(() => (area ? [{ ring: outlineOf(area), selected: true }] : nothing), [JSON.stringify(area)])
  // A finished polygon is drawn as an area only: the line through its corners would cover its outline.
  const route = useMemo(
    () => ({ stretches: [], marks: [], draft: draft.shape === 'Polygon' && draft.isOpen ? draft.corners : nothing }),
    [draft.shape, draft.isOpen, draft.corners],
  )
  const tiles = useMemo(
    () => ({
      devices: tilesAddress({ orgId: org, sinceMinutes: dayMinutes, layers: ['devices' as const] }),
      areas: null,
    }),
    [org],
  )
  // The first known box, of the area or of the fleet, is what the map shows, unless the reader chose another view before.
  const hasChosenView = useRef(false)
  const first = area ? boundsOf(outlineOf(area)) : draft.corners.length === 0 ? home : null
  useEffect(() => {
    if (hasChosenView.current || !first) return
    hasChosenView.current = true
    setFit({ bounds: first, padding: paddingPx, animated: false })
  }, [first])
  const show = (bounds: Bounds) => {
    hasChosenView.current = true
    setFit({ bounds, padding: paddingPx, animated: true, maxZoom: maxClusterZoom })
  }
  if (!canDrawMap.value) return <NoMap>Type the coordinates of the area instead.</NoMap>
  return (
    <MapSurface
      start={start}
      tiles={tiles}
      route={route}
      areas={areas}
      drawing={isDrawing}
      fit={fit}
      onMove={({ lon, lat }, _bounds, byReader) => {
        if (byReader) hasChosenView.current = true
        onLook([lon, lat])
      }}
      onSelectCluster={show}
      onPoint={(lon, lat) => {
        hasChosenView.current = true
        onPoint([lon, lat])
      }}
      onFinish={onFinish}
      onReady={() => onLook([start.lon, start.lat])}
    />
  )
}
