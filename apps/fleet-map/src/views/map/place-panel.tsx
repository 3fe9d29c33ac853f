import { get } from '../../api/client.ts'
import { ago, count } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { StatusLabel } from '../../components/labels.tsx'
import { usePanelFocus } from '../../components/panel-focus.ts'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { Chips } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'
import { areaSummary } from '../places/area-text.ts'
import css from './map.module.css'
import { selectDevice } from './map-place.ts'
import type { OwnedPlace } from './map-places.ts'

const everyMs = 10_000
const maxListed = 50

/** Shows a place: its area, and the devices whose last position is inside it. */
export function PlacePanel({ place, onClose }: { place: OwnedPlace | null; onClose: () => void }) {
  const heading = usePanelFocus()
  return (
    <aside class="device-panel floating" aria-label={place ? `Place ${place.name}` : 'Place'}>
      <header>
        <div>
          <h2 ref={heading} tabIndex={-1}>
            {place?.name ?? 'Place'}
          </h2>
          {place ? <p class="label">{areaSummary(place.area)}</p> : null}
          {place && place.tags.length > 0 ? <Chips words={place.tags} /> : null}
        </div>
        <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {place ? (
        <Facts place={place} />
      ) : (
        <Empty title="Not found">
          <p>The place was deleted, you cannot read it, or the link is wrong.</p>
        </Empty>
      )}
    </aside>
  )
}

const Facts = ({ place: { id, organizationId: org } }: { place: OwnedPlace }) => (
  <>
    <section>
      <div class="toolbar">
        <a class="button" href={linkTo('alerts', { tab: 'places', place: id, org })}>
          Open place
        </a>
        <a class="button" href={linkTo('devices', { place: id, org })}>
          Devices as list
        </a>
      </div>
    </section>
    <DevicesInside org={org} placeId={id} />
  </>
)

function DevicesInside({ org, placeId }: { org: string; placeId: string }) {
  const { value, error, reload } = useResource(
    `devices in ${placeId}`,
    (signal) => get('/devices', { signal, query: { orgId: org, placeId, limit: maxListed } }),
    { everyMs },
  )
  if (!value) return error ? <Failure error={error} retry={reload} /> : <Loading rows={3} label="Loading devices" />
  const { items, nextCursor } = value
  return (
    <section>
      <h2>
        Devices here ({count(items.length)}
        {nextCursor ? ' or more' : ''})
      </h2>
      {items.length === 0 ? <p class="label">No device reported its last position inside this place.</p> : null}
      <ul class={css.devicesInside} aria-label="Devices in this place">
        {items.map(({ id, name, status, location }) => (
          <li key={id}>
            <button type="button" class="button quiet small" onClick={() => selectDevice(id)}>
              <span class={css.name}>{name}</span>
              <span class="label">{ago(location?.ts ?? null)}</span>
              <StatusLabel status={status} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
