import { get, post } from '../../api/client.ts'
import type { BodyOf, Operation } from '../../api/operations.ts'
import type { AlertCounts, AlertState } from '../../api/schemas.ts'
import type { Severity } from './alert-words.ts'

type ClosureBody = BodyOf<Operation<'post', `/orgs/${string}/alert-closures`>>

/** What the inbox is filtered by. Empty texts filter nothing. */
export type InboxFilter = {
  state: AlertState | 'all'
  severity: Severity | ''
  ruleId: string
  deviceId: string
  groupId: string
}

/** The chosen alerts of the inbox: some rows, or all that match its filter and opened until a time. */
export type AlertChoice = { size: number; alertIds: string[] } | { size: number; filter: InboxFilter; until: string }

/** Numbers of what was done with the alerts of a choice. `refused`: they were closed before, or do not exist any more. */
export type HandledCounts = { changed: number; unchanged: number; refused: number }

const maxIds = 1_000

const givenOf = ({ ruleId, deviceId, groupId }: InboxFilter) => ({
  ...(ruleId ? { ruleId } : {}),
  ...(deviceId ? { deviceId } : {}),
  ...(groupId ? { groupId } : {}),
})

/** Returns how many alerts match the filter of the inbox; undefined if it shows closed alerts. */
export async function countMatching(org: string, filter: InboxFilter): Promise<number | undefined> {
  const { state, severity } = filter
  if (state !== 'open' && state !== 'acknowledged') return undefined
  const counts: AlertCounts = await get(`/orgs/${org}/alert-counts`, { query: givenOf(filter) })
  return severity ? (counts.bySeverity[severity]?.[state] ?? 0) : counts[state]
}

/** The bodies of the requests that together handle a choice. */
function bodiesOf(choice: AlertChoice, closes: boolean): Pick<ClosureBody, 'alertIds' | 'filter'>[] {
  if ('filter' in choice) {
    const { state, severity } = choice.filter
    const states = closes && (state === 'open' || state === 'acknowledged') ? { state: [state] } : {}
    const filter = { ...givenOf(choice.filter), ...(severity ? { severity } : {}), ...states, until: choice.until }
    return [{ filter }]
  }
  const { alertIds } = choice
  const parts = Math.ceil(alertIds.length / maxIds)
  return Array.from({ length: parts }, (_, part) => ({ alertIds: alertIds.slice(part * maxIds, (part + 1) * maxIds) }))
}

type Notes = { comment: string; assignee: string }

/** Acknowledges or closes all alerts of a choice, in as many requests as necessary. Throws ApiError. */
export async function handleChoice(
  org: string,
  verb: 'acknowledge' | 'close',
  choice: AlertChoice,
  { comment, assignee }: Notes,
): Promise<HandledCounts> {
  const done: HandledCounts = { changed: 0, unchanged: 0, refused: 0 }
  const written = comment ? { comment } : {}
  for (const selected of bodiesOf(choice, verb === 'close')) {
    let hasMore = true
    while (hasMore) {
      const answer =
        verb === 'close'
          ? await post(`/orgs/${org}/alert-closures`, { body: { ...selected, ...written } })
          : await post(`/orgs/${org}/alert-acknowledgements`, {
              body: { ...selected, ...written, ...(assignee ? { assignee } : {}) },
            })
      done.changed += answer.changed
      const unchanged = answer.results.filter(({ outcome }) => outcome === 'unchanged').length
      done.unchanged += unchanged
      done.refused += answer.results.length - answer.changed - unchanged
      hasMore = answer.hasMore && answer.changed > 0
    }
  }
  return done
}
