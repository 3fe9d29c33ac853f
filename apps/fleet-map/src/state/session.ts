import { computed, effect, signal } from '@preact/signals'
import { ApiError, all, apiKey } from '../api/client.ts'
import type { Organization } from '../api/types.ts'
import { place } from './url.ts'

/** The organizations that the API key can read; undefined while they are loading. */
export const organizations = signal<Organization[] | undefined>(undefined)

/** The id of the organization in the address; '' means all organizations of the key. */
export const organizationId = computed<string>(() => place.value.params.org ?? '')

/** The organization of views that work inside one: the selected one, or else the first. */
export const homeOrganizationId = computed<string>(() => organizationId.value || organizations.value?.[0]?.id || '')

const retryMs = 5_000

effect(() => {
  organizations.value = undefined
  if (apiKey.value === null) return
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const read = async () => {
    try {
      const list = await all<Organization>('/orgs')
      if (!isStopped) organizations.value = list
    } catch (error) {
      if (isStopped) return
      const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429
      // Without the scope org:read the map still works, only without the list of organizations. Retry other errors.
      if (isRefused) organizations.value = []
      else timer = setTimeout(read, retryMs)
    }
  }
  void read()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
})
