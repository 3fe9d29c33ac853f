import { useEffect, useRef, useState } from 'preact/hooks'
import type { FleetDevice } from '../../api/schemas.ts'
import type {
  AreaShape,
  Fit,
  Reveal,
  Shading,
  Stop,
  Surface,
  SurfaceEvents,
  TileAddresses,
  TrailPoint,
  View,
} from '../../map/surface.ts'
import { createWebglSurface } from '../../map/webgl-surface.ts'
import type { DrawnRoute } from '../../route/drawn.ts'
import { canDrawMap } from '../../state/map-support.ts'
import { theme } from '../../state/theme.ts'
import css from './map.module.css'
import { useBackground } from './map-background.ts'

/** What is not given is not drawn, and events without a function are ignored. */
export type MapSurfaceProps = Partial<SurfaceEvents> & {
  start: View
  devices?: readonly FleetDevice[]
  selectedId?: string | null
  tiles?: TileAddresses
  shading?: Shading
  trail?: readonly TrailPoint[]
  stops?: readonly Stop[]
  selectedCell?: string | null
  /** Cells of the dead zone to mark. */
  zone?: readonly string[]
  route?: DrawnRoute | null
  /** Outlines of places. */
  areas?: readonly AreaShape[]
  drawing?: boolean
  /** Whether the map is a part of a page that scrolls. It is read once. */
  inPage?: boolean
  /** The area to show. A new object moves the map. */
  fit?: Fit | null
  /** The view to show. A new object moves the map. */
  look?: View | null
  /** A position that panels must not cover. A new object moves the map if necessary. */
  reveal?: Reveal | null
  onReady?: (surface: Surface) => void
}

const nothing: never[] = []
const noTiles: TileAddresses = { devices: null, areas: null }

/** Returns undefined, and remembers it, in a browser that cannot draw the map. */
function openSurface(
  container: HTMLElement,
  { start, inPage = false }: Pick<MapSurfaceProps, 'start' | 'inPage'>,
  events: SurfaceEvents,
): Surface | undefined {
  try {
    return createWebglSurface(container, start, events, { inPage })
  } catch {
    // Without WebGL2, MapLibre's constructor throws and leaves its elements in the container.
    container.replaceChildren()
    canDrawMap.value = false
    return undefined
  }
}

/** Owns the drawing surface. Passes only changed properties to it, so the map does not flicker. */
export function MapSurface(props: MapSurfaceProps) {
  const container = useRef<HTMLDivElement>(null)
  const events = useRef<Partial<SurfaceEvents>>(props)
  const [surface, setSurface] = useState<Surface>()
  const drawnLook = useRef(theme.value)
  events.current = props

  useEffect(() => {
    let opened: Surface | undefined
    const open = () => {
      if (!container.current) return
      opened = openSurface(container.current, props, {
        onMove: (...move) => events.current.onMove?.(...move),
        onSelectDevice: (id) => events.current.onSelectDevice?.(id),
        onSelectCell: (h3) => events.current.onSelectCell?.(h3),
        onSelectPlace: (id) => events.current.onSelectPlace?.(id),
        onSelectCluster: (bounds) => events.current.onSelectCluster?.(bounds),
        onPoint: (lon, lat) => events.current.onPoint?.(lon, lat),
        onFinish: () => events.current.onFinish?.(),
      })
      if (!opened) return
      drawnLook.current = theme.value
      setSurface(opened)
      props.onReady?.(opened)
    }
    // WebGL takes a while to start, so let the other components send their first requests before.
    const timer = setTimeout(open)
    return () => {
      clearTimeout(timer)
      opened?.destroy()
    }
  }, [])

  useDrawn(surface, props)
  const background = useBackground()
  useEffect(() => surface?.setBackground(background.drawn), [surface, background.drawn])
  const look = theme.value
  useEffect(() => {
    if (!surface || drawnLook.current === look) return
    drawnLook.current = look
    surface.setTheme()
  }, [surface, look])

  return (
    <>
      <div ref={container} class={css.mapSurface} data-background={background.shown} />
      {background.failure ? (
        <p class={`${css.mapBackgroundFailure} floating`} role="status">
          {background.failure}
        </p>
      ) : null}
    </>
  )
}

/** Draws what is given, and moves the map. */
function useDrawn(surface: Surface | undefined, props: MapSurfaceProps): void {
  const { devices = nothing, selectedId = null, tiles = noTiles, shading, areas = nothing, drawing = false } = props
  const { trail = nothing, stops = nothing, selectedCell = null, zone = nothing, route = null } = props
  useEffect(() => surface?.setDevices(devices, selectedId), [surface, devices, selectedId])
  // The map moves first, so that it asks only for tiles that it shows.
  useEffect(() => {
    if (props.fit) surface?.fit(props.fit)
  }, [surface, props.fit])
  useEffect(() => surface?.setTiles(tiles), [surface, tiles])
  useEffect(() => {
    if (shading) surface?.setShading(shading)
  }, [surface, shading])
  useEffect(() => surface?.selectCell(selectedCell), [surface, selectedCell])
  useEffect(() => surface?.setTrail(trail), [surface, trail])
  useEffect(() => surface?.setStops(stops), [surface, stops])
  useEffect(() => surface?.setZone(zone), [surface, zone])
  useEffect(() => surface?.setRoute(route), [surface, route])
  useEffect(() => surface?.setAreas(areas), [surface, areas])
  useEffect(() => surface?.setDrawing(drawing), [surface, drawing])
  useEffect(() => {
    if (props.look) surface?.lookAt(props.look)
  }, [surface, props.look])
  useEffect(() => {
    if (props.reveal) surface?.reveal(props.reveal)
  }, [surface, props.reveal])
}
