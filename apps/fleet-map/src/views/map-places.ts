import { useMemo } from 'preact/hooks'
import type { Place } from '../api/alert-types.ts'
import { all } from '../api/client.ts'
import { useResource } from '../components/resource.ts'
import { outlineOf } from '../map/area-shape.ts'
import type { AreaShape } from '../map/surface.ts'
import { organizationId, organizations } from '../state/session.ts'

const refreshMs = 60_000
/** A map of all organizations shows the places of so many. */
const maxOrganizations = 10
const none: AreaShape[] = []

/** Whether the map of this address shows places. */
export const showsPlaces = (params: Record<string, string>): boolean => params.places !== 'off'

/** Follows the places of the chosen organization, or of all. Empty without the scope to read them. */
export function usePlaces(): readonly AreaShape[] {
  const readable = organizations.value?.slice(0, maxOrganizations).map(({ id }) => id) ?? []
  const ids = organizationId.value ? [organizationId.value] : readable
  const { value } = useResource(
    `places of ${ids}`,
    async () => (await Promise.all(ids.map((id) => all<Place>(`/orgs/${id}/places`)))).flat(),
    ids.length > 0 ? { everyMs: refreshMs } : {},
  )
  return useMemo(
    () => value?.map(({ name, area }) => ({ name, ring: outlineOf(area), selected: false })) ?? none,
    [value],
  )
}
