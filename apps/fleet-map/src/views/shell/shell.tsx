import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Option, withChosen } from '../../components/chosen-option.ts'
import { count } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { Loading } from '../../components/states.tsx'
import { alertCounts } from '../../state/alert-counts.ts'
import { organizationId, organizations } from '../../state/session.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import { helpFor } from '../help/help-list.ts'
import { AccountMenu } from './account-menu.tsx'
import { FirstRouter } from './first-router.tsx'
import { MoreMenu } from './more-menu.tsx'
import css from './shell.module.css'
import { type Opened, ShellDialogs } from './shell-dialogs.tsx'
import { views } from './views.ts'

/** The page of a device belongs to the list of devices. */
const sectionOf = (view: string) => (view === 'device' ? 'devices' : view)

/** The frame around every view: navigation, search, account and organization. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [opened, open] = useState<Opened>(null)
  const search = () => open('search')
  const rename = () => open('name')
  return (
    <div class={css.shell}>
      <button type="button" class="skip-link" onClick={focusContent}>
        Skip to content
      </button>
      <nav class={css.rail} aria-label="Views">
        <img class={css.brand} src="./favicon.svg" alt="Routerfleet" />
        <button type="button" class={css.offPhone} title="Ctrl + K or /" onClick={search}>
          <Icon name="search" />
          Search
        </button>
        {views.map(({ view, label, icon, onPhone }) => (
          <a
            key={view}
            class={onPhone ? '' : css.offPhone}
            href={linkTo(view)}
            aria-current={sectionOf(place.value.view) === view ? 'page' : undefined}
          >
            <Icon name={icon} />
            {label}
            {view === 'alerts' ? <OpenAlerts /> : null}
          </a>
        ))}
        <span class={css.spacer} />
        <a
          class={css.offPhone}
          href={linkTo('help', { page: helpFor(place.value) })}
          aria-current={place.value.view === 'help' ? 'page' : undefined}
        >
          <Icon name="help" />
          Help
        </a>
        <AccountMenu onRename={rename} />
        <MoreMenu onSearch={search} onRename={rename} />
      </nav>
      <main class={css.content} id="content" tabIndex={-1}>
        {children}
        <FirstRouter />
      </main>
      <ShellDialogs opened={opened} onOpen={open} />
    </div>
  )
}

/** The numbers of open alerts, critical ones apart; nothing when there are none. */
function OpenAlerts() {
  const counts = alertCounts.value
  const critical = counts?.bySeverity.critical?.open ?? 0
  const others = (counts?.open ?? 0) - critical
  if (critical + others === 0) return null
  return (
    <>
      <span class={css.badges} aria-hidden="true">
        {critical > 0 ? <span class={`${css.badge} ${css.critical}`}>{shortCount(critical)}</span> : null}
        {others > 0 ? <span class={css.badge}>{shortCount(others)}</span> : null}
      </span>
      <span class="visually-hidden">
        , {count(critical + others)} open{critical > 0 ? `, ${count(critical)} critical` : ''}
      </span>
    </>
  )
}

const shortCount = (number: number) => (number > 99 ? '99+' : number)

// A link would change the part of the address after `#`, which names the view.
function focusContent() {
  document.getElementById('content')?.focus()
}

/** Replaces a view that needs an organization while none is chosen or available. */
export const WithoutOrganization = () =>
  organizations.value === undefined ? (
    <Loading />
  ) : organizations.value.length > 0 ? (
    <ChooseOrganization />
  ) : (
    <div class="state" role="alert">
      <strong>No organization</strong>
      <p>
        This view needs an organization, and you cannot read any. Ask an administrator for the scope{' '}
        <code>org:read</code>.
      </p>
    </div>
  )

const mostOffered = 12

/** Asks for the organization of a view. The address keeps the choice. */
function ChooseOrganization() {
  const list = organizations.value ?? []
  return (
    <div class="state">
      <strong>Choose an organization</strong>
      <p>You have access to several organizations. This view shows one at a time.</p>
      <div class={css.chooseOrganization}>
        {list.slice(0, mostOffered).map(({ id, name }) => (
          <button key={id} type="button" class="button" onClick={() => setParams({ org: id })}>
            {name}
          </button>
        ))}
        {list.length > mostOffered ? <OrganizationPicker allowAll={false} /> : null}
      </div>
    </div>
  )
}

/** Selects an organization. Renders nothing when there are fewer than two. */
export function OrganizationPicker({ allowAll }: { allowAll: boolean }) {
  const list = organizations.value ?? []
  if (list.length < 2) return null
  return (
    <label class="field organization">
      <span>Organization</span>
      <select
        class="input"
        value={organizationId.value}
        required={!allowAll}
        onChange={(event) => setParams({ org: event.currentTarget.value || null, group: null })}
      >
        <option value="">{allowAll ? 'All organizations' : 'Choose …'}</option>
        {withChosen(
          list.map(({ id, name }): Option => [id, name]),
          organizationId.value,
          () => 'Another organization',
        ).map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
