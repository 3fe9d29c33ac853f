import type { ComponentChildren } from 'preact'
import { signOut } from '../api/client.ts'
import { count } from '../components/format.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { Loading } from '../components/states.tsx'
import { alertCounts } from '../state/alert-counts.ts'
import { organizationId, organizations } from '../state/session.ts'
import { theme, toggleTheme } from '../state/theme.ts'
import { linkTo, place, setParams } from '../state/url.ts'

const views: { view: string; label: string; icon: IconName }[] = [
  { view: 'map', label: 'Map', icon: 'map' },
  { view: 'devices', label: 'Devices', icon: 'devices' },
  { view: 'groups', label: 'Groups', icon: 'groups' },
  { view: 'profiles', label: 'Profiles', icon: 'profiles' },
  { view: 'jobs', label: 'Jobs', icon: 'jobs' },
  { view: 'alerts', label: 'Alerts', icon: 'alerts' },
]

/** The page of a device belongs to the list of devices. */
const sectionOf = (view: string) => (view === 'device' ? 'devices' : view)

/** The frame around every view: navigation, theme and sign-out. */
export const Shell = ({ children }: { children: ComponentChildren }) => (
  <div class="shell">
    <button type="button" class="skip-link" onClick={focusContent}>
      Skip to content
    </button>
    <nav class="rail" aria-label="Views">
      <img class="brand" src="./favicon.svg" alt="Routerfleet" />
      {views.map(({ view, label, icon }) => (
        <a key={view} href={linkTo(view)} aria-current={sectionOf(place.value.view) === view ? 'page' : undefined}>
          <Icon name={icon} />
          {label}
          {view === 'alerts' ? <OpenAlerts /> : null}
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

/** The number of open alerts; nothing when there are none. */
function OpenAlerts() {
  const open = alertCounts.value?.open ?? 0
  if (open === 0) return null
  return (
    <>
      <span class="badge" aria-hidden="true">
        {open > 99 ? '99+' : open}
      </span>
      <span class="visually-hidden">, {count(open)} open</span>
    </>
  )
}

// A link would change the part of the address after `#`, which names the view.
function focusContent() {
  document.getElementById('content')?.focus()
}

/** Replaces a view that needs an organization while none is available. */
export const WithoutOrganization = () =>
  organizations.value === undefined ? (
    <Loading />
  ) : (
    <div class="state" role="alert">
      <strong>No organization</strong>
      <p>
        This view needs an organization, and your API key cannot read any. Ask an administrator for the scope{' '}
        <code>org:read</code>.
      </p>
    </div>
  )

/** Selects an organization. Renders nothing when there are fewer than two. */
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
