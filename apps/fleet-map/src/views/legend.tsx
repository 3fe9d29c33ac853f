import type { Quality } from '../api/types.ts'
import { qualityLabel } from '../components/labels.tsx'
import type { CoverageMetric } from '../map/surface.ts'
import { serviceBounds, type Thresholds } from '../state/coverage.ts'

const order: Quality[] = ['excellent', 'good', 'fair', 'poor', 'none']

const metricTitle: Record<CoverageMetric, string> = {
  rsrp: 'RSRP, median',
  sinr: 'SINR, median',
  service: 'Time with service',
}

function bounds(metric: CoverageMetric, thresholds: Thresholds): string[] {
  if (metric === 'service') return serviceBounds.map((share) => `${share * 100} %`)
  const unit = metric === 'rsrp' ? 'dBm' : 'dB'
  return (metric === 'rsrp' ? thresholds.rsrpDbm : thresholds.sinrDb).map(
    (bound) => `${String(bound).replace('-', '−')} ${unit}`,
  )
}

// On a phone the map needs the room; the legend waits behind its title.
const startsOpen = matchMedia('(min-width: 1001px) and (min-height: 620px)').matches

/** What the colours and shapes mean, with the service's own thresholds. */
export function Legend({ metric, thresholds }: { metric: CoverageMetric; thresholds: Thresholds }) {
  const limits = bounds(metric, thresholds)
  return (
    <details class="legend floating" open={startsOpen}>
      <summary>{metricTitle[metric]}</summary>
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
      </ul>
      <h3>Devices</h3>
      <ul class="shapes">
        <li>
          <Mark d="M7 1 12 13 7 10 2 13z" /> Moving
        </li>
        <li>
          <Mark d="M2.5 2.5h9v9h-9z" /> Standing
        </li>
        <li>
          <Mark d="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z" hollow /> Silent 15 min
        </li>
        <li>
          <span class="stay" /> Stay
        </li>
      </ul>
    </details>
  )
}

/** A device's shape on the map, as the legend shows it. */
const Mark = ({ d, hollow = false }: { d: string; hollow?: boolean }) => (
  <svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
    <path d={d} fill={hollow ? 'none' : 'currentColor'} stroke="currentColor" stroke-width={hollow ? 2 : 0} />
  </svg>
)
