import { Icon } from '../../components/icon.tsx'
import { NoMap } from '../../components/no-map.tsx'
import { canDrawMap } from '../../state/map-support.ts'
import { canReadFleet } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import css from './devices.module.css'

/** The filters that the map has, too, and the view that it had. */
const shared = ['org', 'q', 'status', 'tag', 'group', 'signal', 'rat', 'plmn', 'lon', 'lat', 'z', 'window']

/** Shows the same devices on the map. */
export const MapLink = () =>
  canReadFleet.value && canDrawMap.value ? (
    <a class={`button ${css.mapLink}`} href={linkTo('map', {}, shared)}>
      <Icon name="map" size={16} /> Show map
    </a>
  ) : null

/** Says why the list is there instead of the map. */
export function InsteadOfMap() {
  const { view, params } = place.value
  if (view !== 'map' || canDrawMap.value) return null
  return (
    <NoMap>
      The table shows the same devices.
      {params.device ? (
        <>
          {' '}
          <a href={linkTo('device', { id: params.device })}>Open the selected device</a>
        </>
      ) : null}
    </NoMap>
  )
}
