import { signal } from '@preact/signals'
import type { DrawnRoute } from '../route/drawn.ts'
import type { LonLat } from '../route/geometry.ts'
import { decodeLines, encodeLines } from '../route/polyline.ts'
import { place, setParams } from './url.ts'

/**
 * `drawing` is true while clicks on the map add points to the last line. `file` is where the route came from, and what was left
 * out of it.
 */
export type RouteState = {
  lines: LonLat[][]
  drawing: boolean
  file: { name: string; notes: readonly string[] } | null
}

// Some programs shorten longer addresses when a link is shared.
const maxAddressLength = 1_500

const fromAddress = (): RouteState => {
  const lines = decodeLines(place.value.params.route ?? '')
  return { lines, drawing: lines.length === 0, file: null }
}

export const route = signal<RouteState>(fromAddress())

/** What the map draws of the route. The route panel updates it. */
export const drawnRoute = signal<DrawnRoute | null>(null)

/** Changes the route. Writes a finished route into the address unless it is too long. */
export function setRoute(next: Partial<RouteState>): void {
  const state = { ...route.value, ...next }
  route.value = state
  if (state.drawing) return
  const text = encodeLines(state.lines)
  setParams({ route: text.length <= maxAddressLength ? text : null }, { replace: true })
}

/** Adds a point while the route is being drawn. Ignores a repeated point, such as that of a double click. */
export function addPoint(point: LonLat): void {
  const { lines, drawing } = route.value
  const last = lines.at(-1) ?? []
  const before = last.at(-1)
  if (!drawing || (before && before[0] === point[0] && before[1] === point[1])) return
  setRoute({ lines: [...lines.slice(0, -1), [...last, point]] })
}

export function undoPoint(): void {
  const { lines } = route.value
  const rest = lines.at(-1)?.slice(0, -1) ?? []
  setRoute({ lines: [...lines.slice(0, -1), ...(rest.length > 0 ? [rest] : [])], drawing: true })
}

export function clearRoute(): void {
  setRoute({ lines: [], drawing: true, file: null })
  setParams({ route: null }, { replace: true })
}

/** The lines that have a length. The last one can have a single point while it is being drawn. */
export const wholeLines = ({ lines }: RouteState): LonLat[][] => lines.filter(({ length }) => length >= 2)

export function finishRoute(): void {
  const lines = wholeLines(route.value)
  if (route.value.drawing && lines.length > 0) setRoute({ lines, drawing: false })
}

/** Loads the route of the address when it differs from the current route. */
export function followAddress(): void {
  const { params } = place.value
  if (params.route && params.route !== encodeLines(route.value.lines)) route.value = fromAddress()
}
