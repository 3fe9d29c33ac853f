import type { CoverageCell } from '../../api/schemas.ts'
import { ago, count, duration, measured } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { QualityLabel } from '../../components/labels.tsx'

/** Each sample counts for one minute of a modem: a device with two modems has two in a minute. */
const secondsWithoutService = (cell: CoverageCell): number => Math.round(cell.samples * (1 - cell.serviceRatio)) * 60

const confidenceText = {
  low: 'Few samples, or samples of a single device.',
  medium: 'Enough samples for an estimate.',
  high: 'Many samples of several devices.',
}

/** Shows the coverage of one cell. */
export const CellPanel = ({ cell, onClose }: { cell: CoverageCell; onClose: () => void }) => (
  <aside class="device-panel floating" aria-label="Coverage cell">
    <header>
      <div>
        <h2>Coverage cell</h2>
        <code>{cell.h3}</code>
      </div>
      <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
        <Icon name="close" />
      </button>
    </header>
    <section>
      <QualityLabel quality={cell.quality} rat={cell.serviceRatio === 0 ? 'none' : null} />
      <dl class="facts">
        <div>
          <dt>RSRP p10 / median / p90</dt>
          <dd>{[cell.rsrpDbm.p10, cell.rsrpDbm.p50, cell.rsrpDbm.p90].map((value) => value ?? '–').join(' / ')} dBm</dd>
        </div>
        <div>
          <dt>SINR p10 / median</dt>
          <dd>{[cell.sinrDb.p10, cell.sinrDb.p50].map((value) => value ?? '–').join(' / ')} dB</dd>
        </div>
        <div>
          <dt>Modem time with service</dt>
          <dd>{measured(cell.serviceRatio * 100, '%', 1)}</dd>
        </div>
        <div>
          <dt>Modem time without service</dt>
          <dd>{duration(secondsWithoutService(cell))}</dd>
        </div>
        <div>
          <dt>Modem minutes</dt>
          <dd>{count(cell.samples)}</dd>
        </div>
        <div>
          <dt>Devices</dt>
          <dd>{count(cell.devices)}</dd>
        </div>
        <div>
          <dt>Last measured</dt>
          <dd>{ago(cell.lastAt)}</dd>
        </div>
        <div>
          <dt>Confidence</dt>
          <dd>{cell.confidence}</dd>
        </div>
      </dl>
      <p class="label">{confidenceText[cell.confidence]}</p>
    </section>
  </aside>
)
