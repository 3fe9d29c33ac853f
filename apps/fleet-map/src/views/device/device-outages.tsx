import { nearText } from '#client/near'
import { dayAndTime, duration } from '../../components/format.ts'
import { ShowAll } from '../../components/show-all.tsx'
import { useOutages } from '../../state/device-past.ts'
import type { TimeRange } from '../../state/history.ts'
import { holdsSomewhere } from '../../state/session.ts'
import { goTo, place, setParams } from '../../state/url.ts'
import css from './device.module.css'

const firstShown = 5
const zoomOnOutage = '13'

type OutagesProps = {
  deviceId: string
  /** Only the times of this modem. */
  modem?: string | null
  sinceMinutes: number
  range?: TimeRange | null
}

/** Lists the times without service, and near which town they began. A click moves the time slider and the map to one. */
export function Outages({ deviceId, modem = null, sinceMinutes, range = null }: OutagesProps) {
  const mayRead = holdsSomewhere('telemetry:read')
  const outages = useOutages(deviceId, { sinceMinutes, range }, { modem, mayRead }).value ?? []
  if (outages.length === 0) return null
  const totalS = outages.reduce((sum, { durationS }) => sum + durationS, 0)
  const severalModems = new Set(outages.map((outage) => outage.modem)).size > 1
  return (
    <section>
      <h2>Without service</h2>
      <p class="label">{severalModems ? 'By modem' : `${duration(totalS)} in this time range`}</p>
      <ShowAll items={outages} first={firstShown}>
        {(shown) => (
          <ul class={css.outages} aria-label="Times without service">
            {shown.map((outage) => (
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
        )}
      </ShowAll>
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
