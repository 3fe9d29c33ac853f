import { computed, effect, signal } from '@preact/signals'
import { ApiError, accessWasRefused, all, apiKey, get, isSignedIn, sessionCaller } from '../api/client.ts'
import type { Caller, Organization } from '../api/schemas.ts'
import { place } from './url.ts'

/** The organizations that the caller can read; undefined while they are loading. */
export const organizations = signal<Organization[] | undefined>(undefined)

/** The id of the organization in the address; '' means all organizations of the caller. */
export const organizationId = computed<string>(() => place.value.params.org ?? '')

/** The organization of views that work inside one: the selected one, or the only one. '' if one has to be selected. */
export const homeOrganizationId = computed<string>(() => {
  const [first, second] = organizations.value ?? []
  return organizationId.value || (first && !second ? first.id : '')
})

/** The name of the organization with this id, if it can be read. */
export const organizationName = (id: string): string | undefined =>
  organizations.value?.find((organization) => organization.id === id)?.name

/** Who is signed in; undefined while it is loading. */
export const caller = signal<Caller | undefined>(undefined)

export type Scope = Caller['organizations'][number]['scopes'][number]

/** Returns whether the caller holds a scope in an organization. */
export const holds = (organization: string, scope: Scope): boolean =>
  caller.value?.platform ||
  caller.value?.organizations.some(({ id, scopes }) => id === organization && scopes.includes(scope)) ||
  false

/** Returns whether the caller holds a scope in one of the organizations, for what names none. */
export const holdsSomewhere = (scope: Scope): boolean =>
  caller.value?.platform || caller.value?.organizations.some(({ scopes }) => scopes.includes(scope)) || false

/** Whether the caller holds a scope in the chosen organization, or in any. */
const canRead = (scope: Scope) =>
  computed<boolean>(
    () =>
      caller.value?.platform ||
      caller.value?.organizations.some(
        ({ id, scopes }) => scopes.includes(scope) && (organizationId.value === '' || organizationId.value === id),
      ) ||
      false,
  )

/** Whether the caller can read positions and signals. */
export const canReadFleet = canRead('fleet:read')

/** Whether the caller can read samples and data use. */
export const canReadTelemetry = canRead('telemetry:read')

const retryMs = 5_000
const refreshMs = 60_000
/** A platform administrator of many organizations reads them less often. */
const organizationsOnAPage = 100

effect(() => {
  // The page stays as it is until its reader has signed in again.
  if (accessWasRefused.value) return
  caller.value = sessionCaller.value ?? (apiKey.value === null ? undefined : caller.peek())
  if (apiKey.value === null) return
  let isStopped = false
  const read = async () => {
    const found = await get('/auth/me').catch(() => undefined)
    if (isStopped) return
    caller.value = found
    if (!found) timer = setTimeout(read, retryMs)
  }
  let timer = setTimeout(read)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
})

/** Reads the organizations again, after one was created or renamed. */
export async function reloadOrganizations(): Promise<void> {
  organizations.value = await all('/orgs')
}

effect(() => {
  if (accessWasRefused.value) return
  if (!isSignedIn.value) {
    organizations.value = undefined
    return
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const read = async () => {
    clearTimeout(timer)
    try {
      const list = await all('/orgs')
      if (isStopped) return
      if (hasNew(list)) await refreshCaller()
      // The same list must not render every view again.
      if (JSON.stringify(list) !== JSON.stringify(organizations.peek())) organizations.value = list
      timer = setTimeout(read, refreshMs * Math.ceil((list.length + 1) / organizationsOnAPage))
    } catch (error) {
      if (isStopped) return
      const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429
      // Without the scope org:read the map still works, only without the list of organizations. Retry other errors.
      if (isRefused) organizations.value = []
      else timer = setTimeout(read, retryMs)
    }
  }
  void read()
  // Who comes back to the page may have been given access meanwhile.
  const readIfVisible = () => void (document.hidden ? undefined : read())
  document.addEventListener('visibilitychange', readIfVisible)
  return () => {
    isStopped = true
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', readIfVisible)
  }
})

/** Whether a list has organizations that the page does not know yet. False for the first list. */
const hasNew = (list: readonly Organization[]): boolean => {
  const known = organizations.peek()
  return known !== undefined && list.some(({ id }) => !known.some((one) => one.id === id))
}

/** Reads what the caller may do in its organizations again. */
async function refreshCaller(): Promise<void> {
  const found = await get('/auth/me')
  if (sessionCaller.peek()) sessionCaller.value = found
  else caller.value = found
}
