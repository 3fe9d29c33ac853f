import type { CoverageCell } from '../api/types.ts'
import { duration } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'

/** Seconds spent without service in a cell: every vote stands for one device-minute. */
export const secondsWithoutService = (cell: CoverageCell): number =>
  Math.round(cell.samples * (1 - cell.serviceRatio)) * 60

type DeadZonesProps = { cells: readonly CoverageCell[]; onShow: (h3: string) => void; onClose: () => void }

/** Where the fleet was longest without service, the worst first. */
export function DeadZones({ cells, onShow, onClose }: DeadZonesProps) {
  const worst = cells
    .filter((cell) => secondsWithoutService(cell) > 0)
    .sort((a, b) => secondsWithoutService(b) - secondsWithoutService(a))
    .slice(0, 20)
  return (
    <aside class="device-panel floating" aria-label="Dead zones">
      <header>
        <div>
          <h2>Dead zones</h2>
          <p class="label">Cells in view, the longest first</p>
        </div>
        <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {worst.length === 0 ? (
        <p class="panel-note">No cell in view was without service.</p>
      ) : (
        <ol class="ranking">
          {worst.map((cell, index) => (
            <li key={cell.h3}>
              <button type="button" onClick={() => onShow(cell.h3)}>
                <span class="rank">{index + 1}</span>
                <span>
                  <strong>{duration(secondsWithoutService(cell))} without service</strong>
                  <span class="hint">
                    {Math.round(cell.serviceRatio * 100)} % served, {cell.devices}{' '}
                    {cell.devices === 1 ? 'device' : 'devices'}
                  </span>
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </aside>
  )
}
