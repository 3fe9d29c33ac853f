import type { ComponentChildren } from 'preact'
import { signOut } from '../api/client.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { Loading } from '../components/states.tsx'
import { organizationId, organizations } from '../state/session.ts'
import { theme, toggleTheme } from '../state/theme.ts'
import { linkTo, place, setParams } from '../state/url.ts'

const views: { view: string; label: string; icon: IconName }[] = [
  { view: 'map', label: 'Map', icon: 'map' },
  { view: 'devices', label: 'Devices', icon: 'devices' },
  { view: 'groups', label: 'Groups', icon: 'groups' },
  { view: 'profiles', label: 'Profiles', icon: 'profiles' },
  { view: 'jobs', label: 'Jobs', icon: 'jobs' },
]

/** The frame around every view: navigation, theme, sign-out. */
export const Shell = ({ children }: { children: ComponentChildren }) => (
  <div class="shell">
    <button type="button" class="skip-link" onClick={focusContent}>
      Skip to content
    </button>
    <nav class="rail" aria-label="Views">
      <img class="brand" src="./favicon.svg" alt="Routerfleet" />
      {views.map(({ view, label, icon }) => (
        <a key={view} href={linkTo(view)} aria-current={place.value.view === view ? 'page' : undefined}>
          <Icon name={icon} />
          {label}
        </a>
      ))}
      <span class="spacer" />
      <button type="button" onClick={toggleTheme}>
        <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
        {theme.value === 'dark' ? 'Light' : 'Dark'}
      </button>
      <button type="button" onClick={signOut}>
        <Icon name="out" />
        Sign out
      </button>
    </nav>
    <main class="content" id="content" tabIndex={-1}>
      {children}
    </main>
  </div>
)

// A button, since the address after # names the view and a link would change it.
function focusContent() {
  document.getElementById('content')?.focus()
}

/** In the place of a view that works inside one organization, as long as none is known. */
export const WithoutOrganization = () =>
  organizations.value === undefined ? (
    <Loading />
  ) : (
    <div class="state" role="alert">
      <strong>No organization</strong>
      <p>
        Your key names no organization that this page could show. Ask an administrator of yours for the scope{' '}
        <code>org:read</code>.
      </p>
    </div>
  )

/** Chooses an organization; stays away when there is nothing to choose from. */
export function OrganizationPicker({ allowAll }: { allowAll: boolean }) {
  const list = organizations.value ?? []
  if (list.length < 2) return null
  return (
    <label class="field">
      <span>Organization</span>
      <select
        class="input"
        value={organizationId.value || (allowAll ? '' : list[0]?.id)}
        onChange={(event) => setParams({ org: event.currentTarget.value || null, group: null })}
      >
        {allowAll ? <option value="">All organizations</option> : null}
        {list.map((organization) => (
          <option key={organization.id} value={organization.id}>
            {organization.name}
          </option>
        ))}
      </select>
    </label>
  )
}
