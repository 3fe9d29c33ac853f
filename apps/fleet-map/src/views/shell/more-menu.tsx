import { Icon } from '../../components/icon.tsx'
import { linkTo, place } from '../../state/url.ts'
import { helpFor } from '../help/help-list.ts'
import { AccountPanel } from './account-menu.tsx'
import { usePopover } from './popover.ts'
import css from './shell.module.css'
import { views } from './views.ts'

/** What the bar of a phone has no room for: the other views, the search, and the account. */
export function MoreMenu({ onSearch, onRename }: { onSearch: () => void; onRename: () => void }) {
  const { open, setOpen, frame } = usePopover()
  const close = () => setOpen(false)
  const hidden = views.filter(({ onPhone }) => !onPhone)
  const isCurrent = hidden.some(({ view }) => view === place.value.view)
  return (
    <div class={css.more} ref={frame}>
      <button type="button" aria-expanded={open} class={isCurrent ? css.current : ''} onClick={() => setOpen(!open)}>
        <Icon name="more" />
        More
      </button>
      {open ? (
        <section class={`${css.accountPanel} floating`} aria-label="More">
          <div class={css.moreViews}>
            <button
              type="button"
              onClick={() => {
                close()
                onSearch()
              }}
            >
              <Icon name="search" />
              Search
            </button>
            {hidden.map(({ view, label, icon }) => (
              <a
                key={view}
                href={linkTo(view)}
                aria-current={place.value.view === view ? 'page' : undefined}
                onClick={close}
              >
                <Icon name={icon} />
                {label}
              </a>
            ))}
            <a href={linkTo('help', { page: helpFor(place.value) })} onClick={close}>
              <Icon name="help" />
              Help
            </a>
          </div>
          <AccountPanel onDone={close} onRename={onRename} />
        </section>
      ) : null}
    </div>
  )
}
