import type { Quality } from '../../api/schemas.ts'
import { qualityLabel } from '../../components/label-text.ts'
import type { CoverageMetric } from '../../map/surface.ts'
import { serviceBounds, type Thresholds } from '../../state/coverage.ts'
import css from './map.module.css'

const order: Quality[] = ['excellent', 'good', 'fair', 'poor', 'none']

const metricTitle: Record<CoverageMetric, string> = {
  rsrp: 'Median RSRP',
  sinr: 'Median SINR',
  service: 'Time with service',
}

function bounds(metric: CoverageMetric, thresholds: Thresholds): string[] {
  if (metric === 'service') return serviceBounds.map((share) => `${share * 100} %`)
  const unit = metric === 'rsrp' ? 'dBm' : 'dB'
  return (metric === 'rsrp' ? thresholds.rsrpDbm : thresholds.sinrDb).map(
    (bound) => `${String(bound).replace('-', '−')} ${unit}`,
  )
}

// Small screens start with a closed legend to leave room for the map.
const startsOpen = matchMedia('(min-width: 1001px) and (min-height: 880px)').matches

type LegendProps = { metric: CoverageMetric; thresholds: Thresholds; hasPlaces: boolean }

/** Explains the colours and shapes of the map, with the service's thresholds. */
export function Legend({ metric, thresholds, hasPlaces }: LegendProps) {
  const limits = bounds(metric, thresholds)
  return (
    <details class={`${css.legend} floating`} open={startsOpen}>
      <summary>Legend</summary>
      <h3>{metricTitle[metric]}</h3>
      <ul>
        {order.map((quality, index) => {
          const limit = limits[3 - index]
          return (
            <li key={quality}>
              <span class="swatch" style={{ background: `var(--quality-${quality})` }} />
              {qualityLabel[quality]}
              <span style={{ marginLeft: 'auto' }}>{limit ? `≥ ${limit}` : `< ${limits[0]}`}</span>
            </li>
          )
        })}
        <li>
          <span class="swatch hatched" /> No service
        </li>
        <li>
          <span class={`swatch ${css.dotted}`} /> Few measurements
        </li>
      </ul>
      <h3>Devices</h3>
      <ul class={css.shapes}>
        <li>
          <Mark d="M7 1 12 13 7 10 2 13z" /> Moving
        </li>
        <li>
          <Mark d="M2.5 2.5h9v9h-9z" /> Standing
        </li>
        <li>
          <Mark d="M2.5 2.5h9v9h-9z" crossed /> No signal
        </li>
        <li>
          <span class={css.dwell} /> Dwell
        </li>
        <li>
          <Mark d="M7 2 12.5 12h-11z" /> Error
        </li>
        <li>
          <Mark d="M2.5 2.5h9v9h-9z" hollow /> Disabled
        </li>
        {hasPlaces ? (
          <li>
            <span class={css.placeMark} /> Place
          </li>
        ) : null}
        <li class={css.wide}>
          <Mark d="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z" hollow /> No report for 15 min
        </li>
        <li class={css.wide}>
          <span class={css.cluster}>9</span> Several devices, by signal
        </li>
        <li class={css.wide}>Faded: position older than 15 min</li>
      </ul>
    </details>
  )
}

/** The shape of a device on the map. */
const Mark = ({ d, hollow = false, crossed = false }: { d: string; hollow?: boolean; crossed?: boolean }) => (
  <svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
    <path
      d={d}
      fill={crossed ? 'var(--quality-none)' : hollow ? 'none' : 'currentColor'}
      stroke="currentColor"
      stroke-width={hollow ? 2 : 0}
    />
    {crossed ? <path d="m4.5 4.5 5 5m0-5-5 5" stroke="#fff" stroke-width={1.6} /> : null}
  </svg>
)
