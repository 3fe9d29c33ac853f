import { count } from '../../components/format.ts'
import { StatusLabel } from '../../components/labels.tsx'
import type { Hit, SearchResult } from './fleet-data.ts'
import css from './map.module.css'

/** The arrow keys move between the hits. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const item = event.currentTarget.closest('li')
  const next =
    event.key === 'ArrowDown' ? item?.nextElementSibling : event.key === 'ArrowUp' ? item?.previousElementSibling : null
  if (!next) return
  event.preventDefault()
  next.querySelector('button')?.focus()
}

type SearchHitsProps = { found: SearchResult; selectedId: string | null; onSelect: (hit: Hit) => void }

/** Lists the devices that a search found. A click shows one on the map. */
export function SearchHits({ found, selectedId, onSelect }: SearchHitsProps) {
  const { hits, isComplete, error } = found
  if (error) return <p class="label">Search unavailable: {error.message}</p>
  if (hits.length === 0) return null
  return (
    <div class={css.hits}>
      <ul aria-label="Found devices">
        {hits.map((hit) => (
          <li key={hit.deviceId}>
            <button
              type="button"
              class="button quiet small"
              aria-current={hit.deviceId === selectedId}
              onClick={() => onSelect(hit)}
              onKeyDown={moveFocus}
            >
              <span class={css.name} title={hit.name}>
                {hit.name}
              </span>
              {hit.location === null ? <span class="label">No position</span> : <StatusLabel status={hit.status} />}
            </button>
          </li>
        ))}
      </ul>
      {isComplete ? null : <p class="label">The first {count(hits.length)} matches. Type more of the name.</p>}
    </div>
  )
}
