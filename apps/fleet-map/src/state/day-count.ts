const dayMs = 86_400_000

/**
 * How many events happened in the last day, as a text; undefined if there are none. `events`: newest first. `hasOlder`: there are events
 * beyond them.
 */
export function countOfDay(
  events: readonly { at: string }[],
  { hasOlder, nowMs }: { hasOlder: boolean; nowMs: number },
): string | undefined {
  const counted = events.filter(({ at }) => nowMs - Date.parse(at) < dayMs).length
  if (counted === 0) return undefined
  return hasOlder && counted === events.length ? `${counted} or more` : String(counted)
}
