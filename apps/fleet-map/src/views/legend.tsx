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

/** What the colours and shapes mean, with the service's own thresholds. */
export function Legend({ metric, thresholds }: { metric: CoverageMetric; thresholds: Thresholds }) {
  const limits = bounds(metric, thresholds)
  return (
    <aside class="legend floating" aria-label="Legend">
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
      </ul>
      <h3>Devices</h3>
      <ul>
        <li>
          <span aria-hidden="true">▲</span> Moving
        </li>
        <li>
          <span aria-hidden="true">■</span> Standing
        </li>
        <li>
          <span aria-hidden="true">○</span> Silent for over 15 min
        </li>
      </ul>
    </aside>
  )
}
