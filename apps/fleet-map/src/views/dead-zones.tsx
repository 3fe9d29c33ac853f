import type { CoverageCell } from '../api/types.ts'
import { duration } from '../components/format.ts'

/** Seconds spent without service in a cell: every vote stands for one device-minute. */
export const secondsWithoutService = (cell: CoverageCell): number =>
  Math.round(cell.samples * (1 - cell.serviceRatio)) * 60

type DeadZonesProps = { cells: readonly CoverageCell[]; onShow: (h3: string) => void }

/** Where the fleet was longest without service, the worst first. */
export function DeadZones({ cells, onShow }: DeadZonesProps) {
  const worst = cells
    .filter((cell) => secondsWithoutService(cell) > 0)
    .sort((a, b) => secondsWithoutService(b) - secondsWithoutService(a))
    .slice(0, 20)
  return (
    <section>
      <h2>Dead zones</h2>
      {worst.length === 0 ? (
        <p class="label">No cell in view was without service.</p>
      ) : (
        <ol style={{ display: 'grid', gap: 'var(--space-1)' }}>
          {worst.map((cell, index) => (
            <li key={cell.h3}>
              <button type="button" class="button quiet" style={{ width: '100%' }} onClick={() => onShow(cell.h3)}>
                <span class="swatch hatched" />
                <span style={{ marginRight: 'auto' }}>
                  {index + 1}. {duration(secondsWithoutService(cell))} without service
                </span>
                <span class="label">
                  {Math.round(cell.serviceRatio * 100)} % served, {cell.devices}{' '}
                  {cell.devices === 1 ? 'device' : 'devices'}
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
