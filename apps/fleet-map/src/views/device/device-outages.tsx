import { useState } from 'preact/hooks'
import { dayAndTime, duration } from '../../components/format.ts'
import type { Outage } from '../../state/trail.ts'
import { setParams } from '../../state/url.ts'
import css from './device.module.css'

const firstShown = 5
const zoomOnOutage = '13'

/** Lists the times without service. A click moves the time slider and the map to one. */
export function Outages({ outages }: { outages: readonly Outage[] }) {
  const [showsAll, setShowsAll] = useState(false)
  if (outages.length === 0) return null
  const totalS = outages.reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs) / 1_000, 0)
  return (
    <section>
      <h2>Without service</h2>
      <p class="label">{duration(totalS)} in this time range</p>
      <ul class={css.outages} aria-label="Times without service">
        {(showsAll ? outages : outages.slice(0, firstShown)).map(({ fromMs, toMs, at }) => (
          <li key={fromMs}>
            <button
              type="button"
              class="button quiet small"
              onClick={() =>
                setParams({
                  t: new Date(fromMs).toISOString(),
                  ...(at ? { lat: at.lat.toFixed(4), lon: at.lon.toFixed(4), z: zoomOnOutage } : {}),
                })
              }
            >
              <span>{dayAndTime(fromMs)}</span>
              <span>{duration((toMs - fromMs) / 1_000)}</span>
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
