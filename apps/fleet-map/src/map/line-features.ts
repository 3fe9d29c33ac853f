import type { Feature, LineString, Position } from 'geojson'
import { unwrapLine } from '#telemetry/geo/antimeridian'
import type { DrawnRoute } from '../route/drawn.ts'
import { colorOf, noServiceColor } from './palette.ts'
import type { TrailPoint } from './surface.ts'

const breakAfterMs = 15 * 60_000

/**
 * The trail as lines coloured by the signal at their end. Lines are dashed where there was no service or where the
 * position is held. More than 15 minutes of silence leave a gap, because the path is unknown.
 */
export function trailFeatures(points: readonly TrailPoint[]): Feature<LineString>[] {
  const lines: Feature<LineString>[] = []
  const places = unwrapLine(points.map(({ lon, lat }) => [lon, lat]))
  let open: { color: string; dashed: boolean; coordinates: Position[] } | undefined
  const close = () => {
    if (open && open.coordinates.length > 1)
      lines.push({
        type: 'Feature',
        properties: { color: open.color, dashed: open.dashed },
        geometry: { type: 'LineString', coordinates: open.coordinates },
      })
    open = undefined
  }
  let before: TrailPoint | undefined
  for (const [index, here] of points.entries()) {
    const [from = [], to = []] = [places[index - 1], places[index]]
    if (!before || here.ts - before.ts > breakAfterMs) {
      close()
      before = here
      continue
    }
    const color = here.noService ? noServiceColor : colorOf(here.quality)
    const dashed = here.noService || here.alignment === 'held'
    if (!open || open.color !== color || open.dashed !== dashed) {
      close()
      open = { color, dashed, coordinates: [from] }
    }
    open.coordinates.push(to)
    before = here
  }
  close()
  return lines
}

/** The lines of a route by look: `known` is solid, `dead` dashed, `unknown` (also the draft) dotted. */
export function routeFeatures({ stretches, draft }: DrawnRoute): Feature<LineString>[] {
  const line = (coordinates: Position[], color: string, look: string): Feature<LineString> => ({
    type: 'Feature',
    properties: { color, look },
    geometry: { type: 'LineString', coordinates },
  })
  const lines = stretches.map(({ path, quality, dead, known }) =>
    line(path, dead ? colorOf('none') : colorOf(quality), dead ? 'dead' : known ? 'known' : 'unknown'),
  )
  return draft.length > 1 ? [...lines, line(unwrapLine(draft), noServiceColor, 'unknown')] : lines
}
