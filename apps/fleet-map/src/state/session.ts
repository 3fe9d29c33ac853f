import { computed, effect, signal } from '@preact/signals'
import { all, apiKey } from '../api/client.ts'
import type { Organization } from '../api/types.ts'
import { place } from './url.ts'

/** The organizations this key can read; undefined while they are being asked for. */
export const organizations = signal<Organization[] | undefined>(undefined)

/** The organization chosen in the address; '' stands for all that the key reads. */
export const organizationId = computed<string>(() => place.value.params.org ?? '')

/** Pages that work inside one organization take the first when none was chosen. */
export const homeOrganizationId = computed<string>(() => organizationId.value || organizations.value?.[0]?.id || '')

effect(() => {
  if (apiKey.value === null) {
    organizations.value = undefined
    return
  }
  all<Organization>('/orgs')
    .then((list) => {
      organizations.value = list
    })
    // A key without org:read still sees the map; the switcher stays away.
    .catch(() => {
      organizations.value = []
    })
})
