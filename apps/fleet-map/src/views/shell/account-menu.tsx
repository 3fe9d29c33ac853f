import { useState } from 'preact/hooks'
import { folded } from '#client/folded'
import { useAction } from '../../components/action.ts'
import { Icon } from '../../components/icon.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { caller, homeOrganizationId, organizationId, organizationName, organizations } from '../../state/session.ts'
import { leave } from '../../state/sign-in.ts'
import { theme, toggleTheme } from '../../state/theme.ts'
import { place, setParams } from '../../state/url.ts'
import { usePopover } from './popover.ts'
import css from './shell.module.css'

/** Views that can show all organizations at once. */
const acrossOrganizations = new Set(['map', 'devices'])
/** From this number of organizations on, the list has a search field. */
const manyOrganizations = 8
const maxShown = 50

/** Who is signed in and to which organization: switches the organization and the theme, and signs out. */
export function AccountMenu({ onRename }: { onRename: () => void }) {
  const { open, setOpen, frame } = usePopover()
  const name = organizationName(homeOrganizationId.value)
  const label = name ?? ((organizations.value?.length ?? 0) > 1 ? 'All organizations' : 'Account')
  return (
    <div class={css.account} ref={frame}>
      <button type="button" aria-expanded={open} aria-label={`Account: ${label}`} onClick={() => setOpen(!open)}>
        <span class={css.initials} data-initials={initialsOf(label)} aria-hidden="true" />
        <span class={css.accountLabel} aria-hidden="true">
          {label}
        </span>
      </button>
      {open ? (
        <section class={`${css.accountPanel} floating`} aria-label="Account">
          <AccountPanel onDone={() => setOpen(false)} onRename={onRename} />
        </section>
      ) : null}
    </div>
  )
}

/** The first letters of the first two words. */
const initialsOf = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('')

type AccountPanelProps = { onDone: () => void; onRename: () => void }

/** Who is signed in, the organizations, the theme and the sign-out. */
export function AccountPanel({ onDone, onRename }: AccountPanelProps) {
  const { busy, failure, run } = useAction()
  const { name, id, platform, sessionId } = caller.value ?? {}
  return (
    <>
      <div class={css.accountWho}>
        <strong>{name ?? id ?? 'Signed in'}</strong>
        {id?.startsWith('person:') ? (
          <button
            type="button"
            class="link"
            onClick={() => {
              onDone()
              onRename()
            }}
          >
            Change name
          </button>
        ) : null}
        <span class="hint">
          {sessionId ? 'Signed in with a session' : 'Signed in with an API key'}
          {platform ? ' · Platform administrator' : ''}
        </span>
      </div>
      <OrganizationList onChosen={onDone} />
      <div class={css.accountActions}>
        <button type="button" class="button small" onClick={toggleTheme}>
          <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} size={14} />
          {theme.value === 'dark' ? 'Light' : 'Dark'}
        </button>
        <button type="button" class="button small" disabled={busy} onClick={() => run(leave)}>
          <Icon name="out" size={14} /> Sign out
        </button>
      </div>
      <FailureNotice reason={failure} />
    </>
  )
}

function OrganizationList({ onChosen }: { onChosen: () => void }) {
  const [search, setSearch] = useState('')
  const list = organizations.value ?? []
  if (list.length < 2) return null
  const choose = (org: string | null) => {
    // What a view shows of one organization does not exist in another.
    const cleared = Object.fromEntries(
      ['group', 'batch', 'device', 'profile', 'webhook']
        .filter((name) => name in place.value.params)
        .map((name) => [name, null]),
    )
    setParams({ ...cleared, org })
    onChosen()
  }
  const words = folded(search.trim())
  const found = list.filter(({ name }) => folded(name).includes(words))
  return (
    <div class={css.accountOrganizations}>
      <h2 id="account-organizations">Organization</h2>
      {list.length > manyOrganizations ? (
        <input
          class="input"
          type="search"
          aria-label="Find an organization"
          placeholder="Find an organization"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      ) : null}
      <ul aria-labelledby="account-organizations">
        {acrossOrganizations.has(place.value.view) && words === '' ? (
          <li>
            <Choice chosen={organizationId.value === ''} label="All organizations" onChoose={() => choose(null)} />
          </li>
        ) : null}
        {found.slice(0, maxShown).map(({ id, name }) => (
          <li key={id}>
            <Choice chosen={organizationId.value === id} label={name} onChoose={() => choose(id)} />
          </li>
        ))}
      </ul>
      {found.length > maxShown ? <p class="hint">{found.length - maxShown} more. Type a part of the name.</p> : null}
      {found.length === 0 ? <p class="hint">No organization has this name.</p> : null}
    </div>
  )
}

const Choice = ({ chosen, label, onChoose }: { chosen: boolean; label: string; onChoose: () => void }) => (
  <button type="button" class={css.accountChoice} aria-pressed={chosen} onClick={onChoose}>
    {label}
    {chosen ? <span aria-hidden="true">✓</span> : null}
  </button>
)
