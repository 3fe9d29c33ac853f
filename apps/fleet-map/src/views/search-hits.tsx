import type { MapDevice } from '../api/types.ts'
import { count } from '../components/format.ts'
import { StatusLabel } from '../components/labels.tsx'
import type { Found } from './fleet-data.ts'

/** The arrow keys move between the hits. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const item = event.currentTarget.closest('li')
  const next =
    event.key === 'ArrowDown' ? item?.nextElementSibling : event.key === 'ArrowUp' ? item?.previousElementSibling : null
  if (!next) return
  event.preventDefault()
  next.querySelector('button')?.focus()
}

type SearchHitsProps = { found: Found; selectedId: string | null; onSelect: (device: MapDevice) => void }

/** Lists the devices that a search found. A click shows one on the map. */
export function SearchHits({ found, selectedId, onSelect }: SearchHitsProps) {
  const { devices, isComplete, error } = found
  if (error) return <p class="label">Search unavailable: {error.message}</p>
  if (devices.length === 0) return null
  return (
    <div class="hits">
      <ul aria-label="Found devices">
        {devices.map((device) => (
          <li key={device.deviceId}>
            <button
              type="button"
              class="button quiet small"
              aria-current={device.deviceId === selectedId}
              onClick={() => onSelect(device)}
              onKeyDown={moveFocus}
            >
              <span class="name" title={device.name}>
                {device.name}
              </span>
              {device.location ? <StatusLabel status={device.status} /> : <span class="label">No position</span>}
            </button>
          </li>
        ))}
      </ul>
      {isComplete ? null : <p class="label">The first {count(devices.length)} matches. Type more of the name.</p>}
    </div>
  )
}
