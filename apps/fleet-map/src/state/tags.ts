import { call } from '../api/client.ts'
import { useResource } from '../components/resource.ts'

export type ValueCount = { value: string; devices: number }
export type DeviceCounts = {
  total: number
  status: Record<string, number>
  models: ValueCount[]
  firmware: ValueCount[]
  tags: ValueCount[]
}

/** Reads the numbers of devices in an organization that match a filter. */
export const readCounts = (org: string, query: Record<string, string | string[]>, signal: AbortSignal) =>
  call<DeviceCounts>(`/orgs/${org}/device-counts`, { signal, query })

/** Reads the tags of an organization's devices. Empty if they cannot be read. */
export const readTags = async (org: string): Promise<readonly ValueCount[]> => {
  if (!org) return []
  const counts = await call<DeviceCounts>(`/orgs/${org}/device-counts`).catch(() => undefined)
  return counts?.tags ?? []
}

/** The tags of an organization's devices, the most frequent first. Empty while unknown. */
export function useTags(org: string): readonly ValueCount[] {
  return useResource(`tags ${org}`, () => readTags(org)).value ?? []
}

/** Returns typed tags, separated by commas, in the letters in which devices have them: the service compares exactly. */
export const knownTags = (typed: string, tags: readonly ValueCount[]): string =>
  typed
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean)
    .map((tag) => {
      const same = tags.find(({ value }) => value === tag)
      return (same ?? tags.find(({ value }) => value.toLowerCase() === tag.toLowerCase()))?.value ?? tag
    })
    .join(',')
