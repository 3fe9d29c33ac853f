import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

type ShowAllProps<Item> = {
  /** Newest first. */
  items: readonly Item[]
  /** How many are shown at first. */
  first: number
  /** Reads older items; undefined if there are none. */
  more?: (() => void) | undefined
  /** Whether there are older items that cannot be read here. */
  isCut?: boolean
  children: (shown: readonly Item[]) => ComponentChildren
}

/** Shows the first items of a list, and all after a click. Says so if there are further ones. */
export function ShowAll<Item>({ items, first, more, isCut = false, children }: ShowAllProps<Item>) {
  const [showsAll, setShowsAll] = useState(false)
  const isFolded = items.length > first && !showsAll
  const newest = isCut ? `the newest ${items.length}` : `all ${items.length}`
  return (
    <>
      {children(showsAll ? items : items.slice(0, first))}
      {isFolded || more ? (
        <button
          type="button"
          class="button quiet small"
          style={{ justifySelf: 'start', marginLeft: 'calc(-1 * var(--space-3))' }}
          onClick={() => {
            setShowsAll(true)
            if (!isFolded) more?.()
          }}
        >
          {more ? 'Show more' : `Show ${newest}`}
        </button>
      ) : isCut ? (
        <p class="label">Only {newest} are listed.</p>
      ) : null}
    </>
  )
}
