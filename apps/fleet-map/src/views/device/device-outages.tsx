import { useState } from 'preact/hooks'
import { nearText } from '#client/near'
import { get } from '../../api/client.ts'
import { dayAndTime, duration } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { type TimeRange, telemetryPath } from '../../state/history.ts'
import { holdsSomewhere } from '../../state/session.ts'
import { goTo, place, setParams } from '../../state/url.ts'
import { pastQuery } from '../map/fleet-data.ts'
import css from './device.module.css'

const firstShown = 5
const zoomOnOutage = '13'
const refreshMs = 30_000

type OutagesProps = {
  deviceId: string
  /** Only the times of this modem. */
  modem?: string | null
  sinceMinutes: number
  range?: TimeRange | null
}

/** Lists the times without service, and near which town they began. A click moves the time slider and the map to one. */
export function Outages({ deviceId, modem = null, sinceMinutes, range = null }: OutagesProps) {
  const [showsAll, setShowsAll] = useState(false)
  const mayRead = holdsSomewhere('telemetry:read')
  const query = { ...(range ? pastQuery({ range }) : { sinceMinutes }), modem }
  const found = useResource(
    JSON.stringify(['outages', deviceId, query, mayRead]),
    async (signal) => (mayRead ? get(telemetryPath(deviceId, 'outages'), { signal, query }) : undefined),
    { everyMs: refreshMs },
  )
  const outages = found.value?.items ?? []
  if (outages.length === 0) return null
  const totalS = outages.reduce((sum, { durationS }) => sum + durationS, 0)
  const severalModems = new Set(outages.map((outage) => outage.modem)).size > 1
  return (
    <section>
      <h2>Without service</h2>
      <p class="label">{severalModems ? 'By modem' : `${duration(totalS)} in this time range`}</p>
      <ul class={css.outages} aria-label="Times without service">
        {(showsAll ? outages : outages.slice(0, firstShown)).map((outage) => (
          <li key={`${outage.modem} ${outage.from}`}>
            <button type="button" class="button quiet small" onClick={() => showOnMap(deviceId, outage)}>
              <span>
                {dayAndTime(Date.parse(outage.from))}
                {severalModems && outage.modem ? `, ${outage.modem}` : ''}
                {outage.near ? <span class="label"> {nearText(outage.near)}</span> : null}
              </span>
              <span>{duration(outage.durationS)}</span>
            </button>
          </li>
        ))}
      </ul>
      {outages.length > firstShown && !showsAll ? (
        <button type="button" class="button quiet small" onClick={() => setShowsAll(true)}>
          Show all {outages.length}
        </button>
      ) : null}
    </section>
  )
}

function showOnMap(
  deviceId: string,
  { from, location }: { from: string; location: { lat: number; lon: number } | null },
) {
  const params = {
    t: from,
    ...(location ? { lat: location.lat.toFixed(4), lon: location.lon.toFixed(4), z: zoomOnOutage } : {}),
  }
  if (place.value.view === 'map') setParams(params)
  else goTo('map', { device: deviceId, ...params })
}
