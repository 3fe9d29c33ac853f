import { computed, effect, signal } from '@preact/signals'
import { ApiError, all, apiKey } from '../api/client.ts'
import type { Organization } from '../api/types.ts'
import { place } from './url.ts'

/** The organizations this key can read; undefined while they are being asked for. */
export const organizations = signal<Organization[] | undefined>(undefined)

/** The organization chosen in the address; '' stands for all that the key reads. */
export const organizationId = computed<string>(() => place.value.params.org ?? '')

/** Pages that work inside one organization take the first when none was chosen. */
export const homeOrganizationId = computed<string>(() => organizationId.value || organizations.value?.[0]?.id || '')

const askAgainMs = 5_000

effect(() => {
  organizations.value = undefined
  if (apiKey.value === null) return
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  const ask = async () => {
    try {
      const list = await all<Organization>('/orgs')
      if (!isOver) organizations.value = list
    } catch (error) {
      if (isOver) return
      const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429
      // A key that is refused still sees the map; the switcher stays away. A service that is away comes back.
      if (isRefused) organizations.value = []
      else timer = setTimeout(ask, askAgainMs)
    }
  }
  void ask()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
})
