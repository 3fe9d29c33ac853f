import type { RefObject } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { longitudeNear } from '#telemetry/geo/antimeridian'
import type { FleetDevice } from '../../api/schemas.ts'
import type { Bounds, Fit, Padding, Reveal, Surface, View } from '../../map/surface.ts'
import { place, setParams } from '../../state/url.ts'
import css from './map.module.css'

/** The part of the world that the map shows. */
export type Viewport = { view: View; bounds: Bounds }

const world: View = { lon: 8, lat: 30, zoom: 1.6 }
const marginPx = 32

type CameraSubject = {
  /** What the map shows first, unless the address has a view; null for the world, undefined while it is unknown. */
  home: Bounds | null | undefined
  selected: FleetDevice | undefined
  selectedId: string | null
  /** The position that the map keeps in view, until the reader moves the map away from it. */
  followed: { lat: number; lon: number } | undefined
}

/**
 * Owns where the map looks. It starts at the view in the address, or at the whole fleet once the fleet is known. It
 * keeps a newly selected device clear of the panels in `chrome`, and writes every move into the address. `isPlaced`: the view is not
 * the one from which the map moves to the fleet.
 */
export function useMapCamera(
  chrome: RefObject<HTMLElement | null>,
  { home, selected, selectedId, followed }: CameraSubject,
) {
  const [start] = useState(startView)
  const [viewport, setViewport] = useState<Viewport>()
  const [fit, setFit] = useState<Fit | null>(null)
  const [look, setLook] = useState<View | null>(null)
  const [reveal, setReveal] = useState<Reveal | null>(null)
  const hasChosenView = useRef(Boolean(place.value.params.z || place.value.params.route))
  const revealedId = useRef<string | null>(null)
  /** The view in the address that the map already shows. */
  const shown = useRef(viewText(place.value.params))

  /** Moves the map so that it shows this box; without one, moves nothing. */
  const show = useCallback((bounds: Bounds | null | undefined, maxZoom?: number) => {
    if (!bounds) return
    const animated = hasChosenView.current
    hasChosenView.current = true
    setFit({ bounds, padding: freePadding(chrome.current), animated, maxZoom })
  }, [])

  // A link that is opened while the map is open moves it: to its view, or else to the devices of its filters.
  const asked = viewText(place.value.params)
  useEffect(() => {
    // The map may have moved since this was rendered, so the address of this moment counts.
    const { params } = place.value
    if (viewText(params) === shown.current) return
    shown.current = viewText(params)
    const view = viewIn(params)
    hasChosenView.current = Boolean(view ?? params.route)
    if (view) setLook(view)
  }, [asked])

  useEffect(() => {
    if (!hasChosenView.current) show(home)
  }, [home, asked])

  useEffect(() => {
    if (revealedId.current === selectedId || (selectedId && !selected?.location)) return
    revealedId.current = selectedId
    if (selected?.location) setReveal({ at: selected.location, padding: freePadding(chrome.current) })
  }, [selectedId, selected])

  const kept = useRef(followed)
  kept.current = followed
  useEffect(() => {
    // Before, the map is still to be placed.
    if (!followed || !hasChosenView.current) return
    setReveal({ at: followed, padding: freePadding(chrome.current) })
  }, [followed?.lat, followed?.lon])

  const onMove = useCallback((view: View, bounds: Bounds, byReader: boolean) => {
    setViewport({ view, bounds })
    const isLeft = byReader && kept.current !== undefined && !isWithin(bounds, kept.current)
    // A fleet that appears later must not move the map away from what the reader looks at.
    if (byReader) hasChosenView.current = true
    // The last move may end when the address has already left the map.
    if (place.value.view !== 'map') return
    const params = { lon: view.lon.toFixed(4), lat: view.lat.toFixed(4), z: view.zoom.toFixed(2) }
    shown.current = viewText(params)
    setParams(isLeft ? { ...params, follow: null } : params, { replace: true })
  }, [])
  const onReady = useCallback((surface: Surface) => setViewport({ view: start, bounds: surface.bounds() }), [])

  const isPlaced = fit !== null || home === null || hasChosenView.current
  return { start, isPlaced, viewport, fit, look, reveal, show, onMove, onReady }
}

const startView = (): View => viewIn(place.value.params) ?? world

/** The view in an address; undefined when it has none. */
function viewIn({ lon, lat, z }: Record<string, string>): View | undefined {
  const view = { lon: Number(lon), lat: Number(lat), zoom: Number(z) }
  return z && Object.values(view).every(Number.isFinite) ? view : undefined
}

/** Whether a view shows a position. Its longitudes can be beyond ±180°. */
const isWithin = ([west, south, east, north]: Bounds, { lat, lon }: { lat: number; lon: number }): boolean => {
  const near = longitudeNear(lon, (west + east) / 2)
  return lat >= south && lat <= north && near >= west && near <= east
}

const viewText = ({ lon, lat, z }: Record<string, string>): string => (z ? `${lon} ${lat} ${z}` : '')

/**
 * Returns the padding that keeps a view clear of the filters and panels. On wide screens the filters are on the left
 * and panels on the right; on narrow screens the filters are at the top and panels at the bottom.
 */
function freePadding(chrome: HTMLElement | null): Padding {
  const find = (selector: string) => chrome?.querySelector<HTMLElement>(selector) ?? undefined
  const [filters, panel, timeline] = [find(`.${css.mapFilters}`), find('.device-panel'), find(`.${css.timeline}`)]
  const padding = { left: marginPx, top: marginPx, right: marginPx, bottom: marginPx }
  if (!filters || !chrome) return padding
  const isWide = filters.offsetWidth < chrome.clientWidth / 2
  const atBottom = timeline ?? (isWide ? undefined : panel)
  if (atBottom) padding.bottom += chrome.clientHeight - atBottom.offsetTop
  if (isWide) {
    padding.left += filters.offsetLeft + filters.offsetWidth
    if (panel) padding.right += chrome.clientWidth - panel.offsetLeft
  } else padding.top += filters.offsetTop + filters.offsetHeight
  return padding
}
