import { useMemo } from 'preact/hooks'
import { all } from '../../api/client.ts'
import type { Place } from '../../api/schemas.ts'
import { useResource } from '../../components/resource.ts'
import { outlineOf } from '../../map/area-shape.ts'
import { type AreaShape, type Bounds, boundsOf } from '../../map/surface.ts'
import { organizationId, organizations } from '../../state/session.ts'
import type { MapPlace } from './map-place.ts'

const refreshMs = 60_000
/** A map of all organizations shows the places of so many. */
const maxOrganizations = 10
const none: never[] = []

/** A place and its organization. */
export type OwnedPlace = Place & { organizationId: string }

/** Whether the map of this address shows places. */
export const showsPlaces = (params: Record<string, string>): boolean => params.places !== 'off'

/**
 * Follows the places of the chosen organization, or of all; none without the scope to read them. `areas` are those to draw: all
 * of them, or only the open one. `box` is the box of the open one.
 */
export function usePlaces({ placeId }: MapPlace, areShown: boolean) {
  const readable = organizations.value?.slice(0, maxOrganizations).map(({ id }) => id) ?? none
  const ids = organizationId.value ? [organizationId.value] : readable
  const { value, error } = useResource(
    `places of ${ids}`,
    async () => (await Promise.all(ids.map(placesOf))).flat(),
    ids.length > 0 ? { everyMs: refreshMs } : {},
  )
  const shapes = useMemo(
    () => value?.map(({ id, name, area }) => ({ id, name, ring: outlineOf(area) })) ?? none,
    [value],
  )
  const areas = useMemo<AreaShape[]>(
    () =>
      shapes
        .filter(({ id }) => areShown || id === placeId)
        .map((shape) => ({ ...shape, selected: shape.id === placeId })),
    [shapes, areShown, placeId],
  )
  const box = useMemo<Bounds | null>(
    () => boundsOf(shapes.find(({ id }) => id === placeId)?.ring ?? none),
    [shapes, placeId],
  )
  return {
    count: shapes.length,
    areas,
    open: value?.find(({ id }) => id === placeId),
    box,
    isLoading: !error && (organizations.value === undefined || value === undefined),
  }
}

const placesOf = async (organizationId: string): Promise<OwnedPlace[]> =>
  (await all(`/orgs/${organizationId}/places`)).map((place) => ({ ...place, organizationId }))
