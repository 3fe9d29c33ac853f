import { folded } from '#client/folded'
import { get } from '../api/client.ts'
import type { Operation, QueryOf } from '../api/operations.ts'
import type { DeviceCounts } from '../api/schemas.ts'
import { useResource } from '../components/resource.ts'
import { organizations } from './session.ts'

export type ValueCount = DeviceCounts['tags'][number]

/** Reads the numbers of devices in an organization that match a filter. */
export const readCounts = (
  org: string,
  query: QueryOf<Operation<'get', `/orgs/${string}/device-counts`>>,
  signal: AbortSignal,
) => get(`/orgs/${org}/device-counts`, { signal, query })

/** The tags of all organizations are read from so many. */
const maxOrganizations = 10

/** Reads the tags of an organization's devices, or of all organizations for ''. Empty if they cannot be read. */
export const readTags = async (org: string): Promise<readonly ValueCount[]> => {
  const ids = org ? [org] : (organizations.value ?? []).slice(0, maxOrganizations).map(({ id }) => id)
  const found = await Promise.all(ids.map((id) => get(`/orgs/${id}/device-counts`).catch(() => undefined)))
  const tags = found.flatMap((counts) => counts?.tags ?? [])
  return [...Map.groupBy(tags, ({ value }) => value)]
    .map(([value, same]) => ({ value, devices: same.reduce((sum, { devices }) => sum + devices, 0) }))
    .sort((a, b) => b.devices - a.devices)
}

/** The tags of an organization's devices, or of all for '', the most frequent first. Empty while unknown; null reads none. */
export function useTags(org: string | null): readonly ValueCount[] {
  return useResource(`tags ${org}`, async () => (org === null ? [] : readTags(org))).value ?? []
}

/** Returns typed tags, separated by commas, in the letters in which devices have them: the service compares exactly. */
export const knownTags = (typed: string, tags: readonly ValueCount[]): string =>
  typed
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean)
    .map((tag) => {
      const same = tags.find(({ value }) => value === tag)
      return (same ?? tags.find(({ value }) => folded(value) === folded(tag)))?.value ?? tag
    })
    .join(',')
