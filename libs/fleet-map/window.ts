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

/** An organization, and how far back its plan and the request look. */
export type OrganizationWindow = { organizationId: string; windowMs: number }

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

/** The windows alone, for the keys of shared work. */
export const windowsOf = (organizations: readonly OrganizationWindow[]): OrganizationWindow[] =>
  organizations.map(({ organizationId, windowMs }) => ({ organizationId, windowMs }))

/** The member `window` of a response whose windows end at `nowMs`: the longest window. */
export function windowView({ organizations, limitedBy }: PlanWindows<unknown>, nowMs: number) {
  const longestMs = Math.max(0, ...organizations.map(({ windowMs }) => windowMs))
  return {
    from: new Date(nowMs - longestMs).toISOString(),
    to: new Date(nowMs + clockAheadMs).toISOString(),
    limitedBy,
  }
}

const wrongWindow = (pointer: string, detail: string) =>
  badRequest(detail, [{ pointer, code: 'invalid_window', detail }])
