import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

type ShowAllProps<Item> = {
  items: readonly Item[]
  /** How many are shown at first. */
  first: number
  children: (shown: readonly Item[]) => ComponentChildren
}

/** Shows the first items of a list, and all after a click. */
export function ShowAll<Item>({ items, first, children }: ShowAllProps<Item>) {
  const [showsAll, setShowsAll] = useState(false)
  return (
    <>
      {children(showsAll ? items : items.slice(0, first))}
      {items.length > first && !showsAll ? (
        <button
          type="button"
          class="button quiet small"
          style={{ justifySelf: 'start', marginLeft: 'calc(-1 * var(--space-3))' }}
          onClick={() => setShowsAll(true)}
        >
          Show all {items.length}
        </button>
      ) : null}
    </>
  )
}
