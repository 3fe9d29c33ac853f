import { nearText } from '#client/near'
import type { Trip } from '../../api/schemas.ts'
import { duration, moment, timeOfDay } from '../../components/format.ts'
import { usePages } from '../../components/pages.tsx'
import { ShowAll } from '../../components/show-all.tsx'
import { spanQuery, type TimeRange } from '../../state/history.ts'
import { linkTo } from '../../state/url.ts'

type TripsProps = {
  deviceId: string
  sinceMinutes: number
  range?: TimeRange | null
}
type End = Trip['from']

const tripsPerPage = 20
const firstShown = 5

/** Lists where the device drove, newest first. Each trip can be played on the map. */
export function Trips({ deviceId, sinceMinutes, range = null }: TripsProps) {
  const window = spanQuery({ sinceMinutes, range })
  const { items, more, error } = usePages('/fleet/trips', { deviceId, ...window, limit: tripsPerPage })
  if (error || (items.length === 0 && !more)) return null
  return (
    <section aria-label="Trips">
      <h2>Trips</h2>
      <ShowAll items={items} first={firstShown} more={more}>
        {(shown) => (
          <ul class="entries">
            {shown.map((trip) => (
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
                  {wayText(nameOf(trip.from), nameOf(trip.to))}
                  {trip.noServiceS ? `, ${duration(trip.noServiceS)} without service` : ''}
                  {trip.gap ? ', with a gap before or after' : ''}
                </span>
              </li>
            ))}
          </ul>
        )}
      </ShowAll>
    </section>
  )
}

const wayText = (from: string | undefined, to: string | undefined) => (from && to ? `, ${from} to ${to}` : '')

/** An end by the place that contains it, or else by the nearest town. */
const nameOf = ({ placeName, near }: End): string | undefined =>
  placeName ?? (near ? nearText(near).replace(/^in /, '') : undefined)

/** The range of the trip, and its start for the time slider. */
function timesOf({ departedAt, durationS }: Trip) {
  const to = new Date(Date.parse(departedAt) + Math.max(1, durationS) * 1_000).toISOString()
  return { from: departedAt, to, t: departedAt }
}
