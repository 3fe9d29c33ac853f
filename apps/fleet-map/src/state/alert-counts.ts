import { effect, signal } from '@preact/signals'
import { ApiError, apiKey, get } from '../api/client.ts'
import { homeOrganizationId } from './session.ts'

const everyMs = 15_000

/** The alerts of the selected organization that are not closed; undefined while unknown or without the scope. */
export const alertCounts = signal<{ open: number; acknowledged: number } | undefined>(undefined)

let refresh: (() => void) | undefined

/** Reads the counts again, after the page changed an alert. */
export const refreshAlertCounts = (): void => refresh?.()

effect(() => {
  const organization = homeOrganizationId.value
  alertCounts.value = undefined
  if (apiKey.value === null || !organization) return
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const read = async () => {
    clearTimeout(timer)
    try {
      const counts = await get(`/orgs/${organization}/alert-counts`)
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
