import { effect, signal } from '@preact/signals'
import { ApiError, get, isSignedIn } from '../api/client.ts'
import type { AlertCounts } from '../api/schemas.ts'
import { holds, holdsSomewhere, homeOrganizationId, organizations } from './session.ts'

const everyMs = 15_000

/**
 * The alerts that are not closed, of the selected organization or of all organizations of the caller; undefined while unknown or
 * without the scope.
 */
export const alertCounts = signal<AlertCounts | undefined>(undefined)

let refresh: (() => void) | undefined

/** Reads the counts again, after the page changed an alert. */
export const refreshAlertCounts = (): void => refresh?.()

effect(() => {
  const organization = homeOrganizationId.value
  alertCounts.value = undefined
  // Which organization is the only one is known only after the list of organizations.
  if (!isSignedIn.value || (!organization && organizations.value === undefined)) return
  if (!(organization ? holds(organization, 'alert:read') : holdsSomewhere('alert:read'))) return
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const read = async () => {
    clearTimeout(timer)
    try {
      const counts = await (organization ? get(`/orgs/${organization}/alert-counts`) : get('/alert-counts'))
      if (!isStopped) alertCounts.value = counts
    } catch (error) {
      // Without the scope alert:read, there is no number.
      if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return
    }
    if (!isStopped) timer = setTimeout(read, document.hidden ? everyMs * 4 : everyMs)
  }
  refresh = () => void read()
  // The map comes first.
  timer = setTimeout(read, 500)
  return () => {
    isStopped = true
    refresh = undefined
    clearTimeout(timer)
  }
})
