import { badRequest } from '#core/errors'

const minuteMs = 60_000
const dayMs = 86_400_000

/** How far the clock of a router may be ahead of ours. Its newest samples can be this far in the future. */
export const clockAheadMs = 5 * minuteMs

export type WindowQuery = { sinceMinutes?: number | undefined; from?: Date | undefined; to?: Date | undefined }

/** [fromMs, toMs), and the requested length before the limit of a plan. */
export type RequestedWindow = { fromMs: number; toMs: number; requestedMinutes: number }

/** The requested window. Throws 400 if it is empty, if its end is before its start, or if it is given twice. */
export function requestedWindow(query: WindowQuery, nowMs: number, defaultMinutes: number): RequestedWindow {
  const { sinceMinutes, from, to } = query
  if (from && sinceMinutes !== undefined) throw wrongWindow('from', 'Send either from or sinceMinutes.')
  const toMs = to?.getTime() ?? nowMs + clockAheadMs
  const minutes = sinceMinutes ?? defaultMinutes
  const fromMs = from?.getTime() ?? nowMs - minutes * minuteMs
  if (fromMs >= toMs) throw wrongWindow('to', 'The end of the window must be after its start.')
  const requestedMinutes = from ? Math.ceil((Math.min(toMs, nowMs) - fromMs) / minuteMs) : minutes
  return { fromMs, toMs, requestedMinutes: Math.max(requestedMinutes, 0) }
}

/** Start of the history that a plan includes. */
export const planStartMs = (historyDays: number, nowMs: number): number => nowMs - historyDays * dayMs

/** A range of time in the past, [fromMs, toMs). */
export type WindowRange = { fromMs: number; toMs: number }

/**
 * An organization, and how far back its plan and the request look. `past`: the range of a request for another time than
 * until now, within the plan.
 */
export type OrganizationWindow = { organizationId: string; windowMs: number; past?: WindowRange | undefined }

/** The range of a window that ends at `nowMs` unless it is in the past. */
export const rangeOf = ({ windowMs, past }: OrganizationWindow, nowMs: number): WindowRange =>
  past ?? { fromMs: nowMs - windowMs, toMs: nowMs + clockAheadMs }

/** The windows of a request. `limitedBy`: whether the plan of an organization made one shorter than requested. */
export type PlanWindows<Organization> = {
  organizations: (Organization & OrganizationWindow)[]
  limitedBy: 'plan' | null
}

/** The window of each organization: as requested, but at most as long as the history in its plan. */
export function planWindows<Organization extends { organizationId: string; historyDays: number }>(
  found: readonly Organization[],
  sinceMinutes: number,
): PlanWindows<Organization> {
  const requestedMs = sinceMinutes * minuteMs
  const organizations = found.map((organization) => ({
    ...organization,
    windowMs: Math.min(requestedMs, organization.historyDays * dayMs),
  }))
  const isLimited = organizations.some(({ windowMs }) => windowMs < requestedMs)
  return { organizations, limitedBy: isLimited ? 'plan' : null }
}

/** A time in the past instead of the time until now. */
export type PastQuery = { from?: Date | undefined; to?: Date | undefined }

/** The range that a query asks for instead of the time until now. Throws 400 if its end is not after its start. */
export function pastRange({ from, to }: PastQuery): WindowRange | undefined {
  if (!from || !to) {
    if (from || to) throw wrongWindow(from ? 'to' : 'from', 'Send both from and to.')
    return undefined
  }
  if (from >= to) throw wrongWindow('to', 'The end of the window must be after its start.')
  return { fromMs: from.getTime(), toMs: to.getTime() }
}

const hourMs = 60 * minuteMs

/** The same windows for a range in the past. A range that begins before the history of a plan begins with it. */
export function inPast<Organization extends { historyDays: number }>(
  { organizations, limitedBy }: PlanWindows<Organization>,
  range: WindowRange | undefined,
  nowMs: number,
): PlanWindows<Organization> {
  if (!range) return { organizations, limitedBy }
  let isLimited = false
  const within = organizations.map((organization) => {
    // To the hour, so that requests share their work.
    const startMs = Math.ceil(planStartMs(organization.historyDays, nowMs) / hourMs) * hourMs
    isLimited ||= startMs > range.fromMs
    const fromMs = Math.max(range.fromMs, startMs)
    return { ...organization, past: { fromMs, toMs: Math.max(fromMs, range.toMs) } }
  })
  return { organizations: within, limitedBy: isLimited ? 'plan' : null }
}

/** The windows alone, for the keys of shared work. */
export const windowsOf = (organizations: readonly OrganizationWindow[]): OrganizationWindow[] =>
  organizations.map(({ organizationId, windowMs, past }) => ({ organizationId, windowMs, ...(past ? { past } : {}) }))

/** The member `window` of a response at `nowMs`: the longest window. */
export function windowView({ organizations, limitedBy }: PlanWindows<unknown>, nowMs: number) {
  const none = { fromMs: nowMs, toMs: nowMs + clockAheadMs }
  const ranges = organizations.length > 0 ? organizations.map((each) => rangeOf(each, nowMs)) : [none]
  return {
    from: new Date(Math.min(...ranges.map(({ fromMs }) => fromMs))).toISOString(),
    to: new Date(Math.max(...ranges.map(({ toMs }) => toMs))).toISOString(),
    limitedBy,
  }
}

const wrongWindow = (pointer: string, detail: string) =>
  badRequest(detail, [{ pointer, code: 'invalid_window', detail }])
