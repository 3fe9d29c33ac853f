import { createHash } from 'node:crypto'
import type { GpsRequest } from '#fleet-map/gps/gps-request'
import type { Selection } from '#fleet-map/selection/selection'
import { windowsOf } from '#fleet-map/window'

type Entry = { revision: number; isGone: boolean }

/** The entity tag of a response: it changes when the returned data changes, but not with the age of samples. */
export function etagOf(
  epoch: string,
  { query, organizations, cursor, place }: GpsRequest,
  { digest }: Selection,
  { coverage, dwells }: Record<'coverage' | 'dwells', readonly Entry[]>,
  gone: readonly string[],
  h3Resolution: number | undefined,
): string {
  const { since: _since, cursor: _cursor, ...filters } = query
  const facts = [
    epoch,
    filters,
    place?.key,
    windowsOf(organizations),
    cursor?.after,
    digest,
    h3Resolution,
    listState(coverage),
    listState(dwells),
    gone,
  ]
  return `W/"${createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, 22)}"`
}

/**
 * Identifies the state of a list. Each change gets a newer revision, so another state differs in the number of entries, in
 * the number of removed entries or in the latest revision.
 */
function listState(entries: readonly Entry[]): [count: number, gone: number, latest: number] {
  let latest = 0
  let gone = 0
  for (const { revision, isGone } of entries) {
    latest = Math.max(latest, revision)
    if (isGone) gone++
  }
  return [entries.length, gone, latest]
}
