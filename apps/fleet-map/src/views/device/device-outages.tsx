import { nearText } from '#client/near'
import { dayAndTime, duration } from '../../components/format.ts'
import { ShowAll } from '../../components/show-all.tsx'
import { useOutages } from '../../state/device-past.ts'
import type { TimeRange } from '../../state/history.ts'
import { holdsSomewhere } from '../../state/session.ts'
import { goTo, place, setParams } from '../../state/url.ts'
import css from './device.module.css'

const firstShown = 5
/** The service returns no more. */
const mostOutages = 1_000
const zoomOnOutage = '13'

type OutagesProps = {
  deviceId: string
  /** Only the times of this modem. */
  modem?: string | null
  hasSeveralModems: boolean
  sinceMinutes: number
  range?: TimeRange | null
}

/**
 * Lists the times without service, of which modem, and near which town they began. A click moves the time slider and the map to
 * one.
 */
export function Outages({ deviceId, modem = null, hasSeveralModems, sinceMinutes, range = null }: OutagesProps) {
  const mayRead = holdsSomewhere('telemetry:read')
  const { items: outages, ofDevice } =
    useOutages(deviceId, { sinceMinutes, range }, { modem, mayRead }).value ?? nothing
  if (outages.length === 0) return null
  return (
    <section>
      <h2>Without service</h2>
      <p class="label">
        {modem === null ? '' : `${modem}: ${textOf(outages)}. `}
        {hasSeveralModems ? `All modems at once: ${textOf(ofDevice)}` : textOf(outages)} in this time range
      </p>
      <ShowAll items={outages} first={firstShown} isCut={outages.length >= mostOutages}>
        {(shown) => (
          <ul class={css.outages} aria-label="Times without service">
            {shown.map((outage) => (
              <li key={`${outage.modem} ${outage.from}`}>
                <button type="button" class="button quiet small" onClick={() => showOnMap(deviceId, outage)}>
                  <span>
                    {dayAndTime(Date.parse(outage.from))}
                    {hasSeveralModems ? `, ${outage.modem ?? 'modem without a name'}` : ''}
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

const nothing = { items: [], ofDevice: [] }

/** How long the times are together. */
function textOf(times: readonly { durationS: number }[]): string {
  const totalS = times.reduce((sum, { durationS }) => sum + durationS, 0)
  return totalS > 0 ? duration(totalS) : 'never'
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
