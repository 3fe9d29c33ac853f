import { nearText } from '#client/near'
import { get } from '../../api/client.ts'
import type { Trip } from '../../api/schemas.ts'
import { duration, moment, timeOfDay } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import type { TimeRange } from '../../state/history.ts'
import { linkTo } from '../../state/url.ts'
import { pastQuery } from '../map/fleet-data.ts'

type TripsProps = { deviceId: string; sinceMinutes: number; range?: TimeRange | null }

/** Lists where the device drove, newest first. Each trip can be played on the map. */
export function Trips({ deviceId, sinceMinutes, range = null }: TripsProps) {
  const window = range ? pastQuery({ range }) : { sinceMinutes }
  const trips = useResource(`trips ${deviceId} ${JSON.stringify(window)}`, (signal) =>
    get('/fleet/trips', { signal, query: { deviceId, ...window, limit: 10 } }),
  )
  const items = trips.value?.items ?? []
  if (trips.error || items.length === 0) return null
  return (
    <section aria-label="Trips">
      <h2>Trips</h2>
      <ul class="entries">
        {items.map((trip) => (
          <li key={trip.departedAt}>
            <strong>
              {(trip.distanceM / 1_000).toFixed(1)} km in {duration(trip.durationS)}
            </strong>{' '}
            <a
              style={{ textDecoration: 'underline' }}
              href={linkTo('map', { device: deviceId, ...timesOf(trip), play: '1' })}
            >
              Play
            </a>
            <span class="label">
              {' '}
              {moment(trip.departedAt)} to {trip.arrivedAt ? timeOfDay(Date.parse(trip.arrivedAt)) : 'now'}
              {trip.from.near && trip.to.near ? `, ${nearText(trip.from.near)} to ${nearText(trip.to.near)}` : ''}
              {trip.noServiceS ? `, ${duration(trip.noServiceS)} without service` : ''}
              {trip.gap ? ', with a gap before or after' : ''}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The range of the trip, and its start for the time slider. */
function timesOf({ departedAt, durationS }: Trip) {
  const to = new Date(Date.parse(departedAt) + Math.max(1, durationS) * 1_000).toISOString()
  return { from: departedAt, to, t: departedAt }
}
