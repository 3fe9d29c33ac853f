import { signal } from '@preact/signals'
import type { DrawnRoute } from '../route/drawn.ts'
import type { LonLat } from '../route/geometry.ts'
import { decodePolyline, encodePolyline } from '../route/polyline.ts'
import { place, setParams } from './url.ts'

/** `drawing` is true while clicks on the map add points. `name` is the file that the route came from. */
export type RouteState = { path: LonLat[]; drawing: boolean; name: string | null }

// Some programs shorten longer addresses when a link is shared.
const maxAddressLength = 1_500

const fromAddress = (): RouteState => {
  const path = decodePolyline(place.value.params.route ?? '')
  return { path, drawing: path.length < 2, name: null }
}

export const route = signal<RouteState>(fromAddress())

/** What the map draws of the route. The route panel updates it. */
export const drawnRoute = signal<DrawnRoute | null>(null)

/** Changes the route. Writes a finished route into the address unless it is too long. */
export function setRoute(next: Partial<RouteState>): void {
  const state = { ...route.value, ...next }
  route.value = state
  if (state.drawing) return
  const text = state.path.length < 2 ? '' : encodePolyline(state.path)
  setParams({ route: text.length <= maxAddressLength ? text : null }, { replace: true })
}

/** Adds a point while the route is being drawn. Ignores a repeated point, such as that of a double click. */
export function addPoint(point: LonLat): void {
  const last = route.value.path.at(-1)
  if (!route.value.drawing || (last && last[0] === point[0] && last[1] === point[1])) return
  setRoute({ path: [...route.value.path, point] })
}

export const undoPoint = (): void => setRoute({ path: route.value.path.slice(0, -1), drawing: true })

export function clearRoute(): void {
  setRoute({ path: [], drawing: true, name: null })
  setParams({ route: null }, { replace: true })
}

export function finishRoute(): void {
  if (route.value.drawing && route.value.path.length >= 2) setRoute({ drawing: false })
}

/** Loads the route of the address when it differs from the current route. */
export function followAddress(): void {
  const { params } = place.value
  if (params.route && params.route !== encodePolyline(route.value.path)) route.value = fromAddress()
}
