import type { Area } from '../../api/schemas.ts'
import { ringOf } from '../../map/area-shape.ts'
import type { LonLat } from '../../route/geometry.ts'

/** An area that is being drawn. `isOpen` is true while clicks on the map add corners to the polygon. */
export type Draft = {
  shape: 'Polygon' | 'Circle'
  corners: LonLat[]
  isOpen: boolean
  centre: LonLat | null
  radiusM: number
}

export const emptyDraft: Draft = { shape: 'Polygon', corners: [], isOpen: true, centre: null, radiusM: 500 }

export function draftOf(area: Area): Draft {
  if (area.type === 'Circle')
    return { ...emptyDraft, shape: 'Circle', centre: [area.lon, area.lat], radiusM: area.radiusM }
  return { ...emptyDraft, corners: ringOf(area).slice(0, -1), isOpen: false }
}

/** Returns the area of a draft; undefined while it is incomplete. */
export function areaOf({
  shape,
  corners,
  centre,
  radiusM,
}: Draft): Exclude<Area, { type: 'MultiPolygon' }> | undefined {
  if (shape === 'Circle') {
    if (!centre || !(radiusM > 0)) return undefined
    return { type: 'Circle', lat: centre[1], lon: centre[0], radiusM }
  }
  const [first] = corners
  return first && corners.length >= 3 ? { type: 'Polygon', coordinates: [[...corners, first]] } : undefined
}

// Five decimals are about one metre, the accuracy of a click.
const rounded = ([lon, lat]: LonLat): LonLat => [Math.round(lon * 1e5) / 1e5, Math.round(lat * 1e5) / 1e5]

/** Adds a corner, or sets the centre of a circle. Ignores a repeated corner, such as that of a double click. */
export function addPointTo(draft: Draft, point: LonLat): Draft {
  const at = rounded(point)
  if (draft.shape === 'Circle') return { ...draft, centre: at }
  const last = draft.corners.at(-1)
  if (!draft.isOpen || (last?.[0] === at[0] && last[1] === at[1])) return draft
  return { ...draft, corners: [...draft.corners, at] }
}

export const undoPointOf = (draft: Draft): Draft => ({ ...draft, corners: draft.corners.slice(0, -1), isOpen: true })

export const finishOf = (draft: Draft): Draft => (draft.corners.length >= 3 ? { ...draft, isOpen: false } : draft)
