import type { Quality, RouteForecast } from '../api/schemas.ts'
import { type LonLat, routeCutter } from './geometry.ts'

/** A part of the route with one look. Dead parts are dashed, unknown parts are thin and dotted. */
type RouteStretch = { path: LonLat[]; quality: Quality | null; dead: boolean; known: boolean }

/** What the map draws of a route: its parts, the number of each dead zone, and the points of a draft. */
export type DrawnRoute = { stretches: RouteStretch[]; marks: { at: LonLat; label: string }[]; draft: LonLat[] }

/** What the map draws before the forecast is known. Clicks add points to the last line. */
export const drawDraft = (lines: readonly LonLat[][]): DrawnRoute => ({
  stretches: lines.slice(0, -1).map((path) => ({ path, quality: null, dead: false, known: false })),
  marks: [],
  draft: lines.at(-1) ?? [],
})

/** Converts a forecast to a route on the map. Joins neighbouring segments that look the same. */
export function drawForecast(
  lines: readonly LonLat[][],
  { segments, summary, stretches: parts }: RouteForecast,
): DrawnRoute {
  const cut = routeCutter(lines)
  const cutForMarks = routeCutter(lines)
  const startsM = new Set(parts?.map(({ fromM }) => fromM))
  const isDead = (fromM: number) => summary.deadZones.some((zone) => fromM >= zone.fromM && fromM < zone.toM)
  const stretches: RouteStretch[] = []
  for (const { fromM, toM, quality, confidence } of segments) {
    const piece = cut(fromM, toM)
    const look = { quality, dead: isDead(fromM), known: confidence !== 'none' }
    const open = stretches.at(-1)
    if (
      open &&
      !startsM.has(fromM) &&
      open.quality === look.quality &&
      open.dead === look.dead &&
      open.known === look.known
    ) {
      open.path.push(...piece.slice(1))
    } else stretches.push({ path: piece, ...look })
  }
  const marks = summary.deadZones.map(({ fromM, toM }, index) => ({
    at: cutForMarks((fromM + toM) / 2, toM)[0] ?? [0, 0],
    label: String(index + 1),
  }))
  return { stretches, marks, draft: [] }
}
