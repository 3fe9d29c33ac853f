import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useResource } from '../../components/resource.ts'
import { homeOrganizationId } from '../../state/session.ts'
import css from './search.module.css'
import { deviceEntries, knownEntries, organizationEntries } from './search-entries.ts'
import { matchingEntries } from './search-match.ts'

const minDeviceQuery = 2

type SearchProps = {
  onClose: () => void
  /** What the reader typed before the field was there. */
  typed: string
}

/** Finds devices, groups, places, profiles, jobs, settings and actions by their words, and opens one. */
export function Search({ onClose, typed: typedBefore }: SearchProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const org = homeOrganizationId.value
  const [typed, setTyped] = useState(typedBefore)
  const query = typed.trim()
  const own = useResource(`search ${org}`, () => organizationEntries(org))
  const devices = useResource(`search devices ${org} ${query}`, async (signal) =>
    query.length < minDeviceQuery ? [] : deviceEntries(org, query, signal),
  )
  const entries = [...(devices.value ?? []), ...matchingEntries([...(own.value ?? []), ...knownEntries(org)], query)]
  const isWaiting = query.length >= minDeviceQuery && (devices.loading || own.loading)
  // Before the next key is pressed.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  // With Enter, the first one opens as soon as what was typed last is answered.
  const [entered, enter] = useState<string>()
  const first = entered === query && !isWaiting ? entries[0] : undefined
  useEffect(() => {
    if (!first) return
    location.hash = first.href
    onClose()
  }, [first?.href])
  const submit = (event: Event) => {
    event.preventDefault()
    enter(query)
  }
  return (
    <dialog ref={dialog} class={`dialog ${css.search}`} aria-label="Search" onClose={onClose} onKeyDown={moveFocus}>
      <form onSubmit={submit}>
        <input
          class="input"
          type="search"
          aria-label="Search"
          autocomplete="off"
          placeholder="Devices, groups, places, profiles, jobs, settings …"
          value={typed}
          onInput={(event) => {
            enter(undefined)
            setTyped(event.currentTarget.value)
          }}
        />
      </form>
      {entries.length > 0 ? (
        <ul aria-label="Found">
          {entries.map(({ href, label, hint, kind }) => (
            <li key={href}>
              <a href={href} onClick={onClose}>
                <span class={css.label}>
                  {label} {hint ? <span class="hint">{hint}</span> : null}
                </span>
                <span class="hint">{kind}</span>
              </a>
            </li>
          ))}
        </ul>
      ) : null}
      <p class={css.note} role={isWaiting || query === '' ? undefined : 'status'}>
        {noteOf(query, entries.length, isWaiting)}
      </p>
    </dialog>
  )
}

/** The arrow keys move between the field and what was found. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('input, a')]
  const at = stops.indexOf(document.activeElement as HTMLElement)
  stops[(at + step + stops.length) % stops.length]?.focus()
}

function noteOf(query: string, found: number, isWaiting: boolean): string {
  if (query === '') return 'Enter opens the first one, ↑ and ↓ choose another, Escape closes.'
  if (isWaiting) return 'Searching …'
  return found === 0 ? `Nothing matches “${query}”.` : ''
}
