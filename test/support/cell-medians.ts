import { createRadioComparison, type RadioHealth } from '#telemetry/radio-health/radio-health'
import type { Radio } from '#telemetry/radio-health/roster'
import type { HourWindow } from '#telemetry/radio-health/shared-cells'

/** The median RSRP of a modem in an H3 cell of resolution 10, on one serving cell, in the hour that begins at `hourMs`. */
export type CellMedian = {
  deviceId: string
  modem: string | null
  hourMs: number
  h3: string
  rat: string | null
  cellId: string | null
  pci: number | null
  arfcn: number | null
  rsrpDbm: number | null
}

const msPerHour = 3_600_000

/**
 * Returns what two medians have in common in the same shared cell: H3 cell, RAT and serving cell, which is its identity, else its
 * physical identity and channel. Null without service or serving cell.
 */
export function sharedCellOf({ h3, rat, cellId, pci, arfcn }: CellMedian): string | null {
  if (rat === null || rat === 'none') return null
  if (cellId !== null) return `${h3} ${rat} ${cellId}`
  return pci === null || arfcn === null ? null : `${h3} ${rat} ${pci}/${arfcn}`
}

const radioKey = ({ deviceId, modem }: Pick<Radio, 'deviceId' | 'modem'>): string => JSON.stringify([deviceId, modem])

/**
 * Returns the health of the radios of an organization from medians in any order, which must fit into memory. Medians of other
 * radios do not count. A large organization adds its cells to `createRadioComparison` as it reads them.
 */
export function compareMedians(
  radios: readonly Radio[],
  medians: Iterable<CellMedian>,
  window: HourWindow,
): RadioHealth[] {
  const indexOf = new Map(radios.map((radio, index) => [radioKey(radio), index]))
  const cells = new Map<string, { radios: number[]; hours: number[]; rsrpDbm: number[] }>()
  for (const median of medians) {
    const index = indexOf.get(radioKey(median))
    const key = sharedCellOf(median)
    if (index === undefined || key === null || median.rsrpDbm === null) continue
    const cell = cells.get(key) ?? { radios: [], hours: [], rsrpDbm: [] }
    cell.radios.push(index)
    cell.hours.push(Math.floor(median.hourMs / msPerHour))
    cell.rsrpDbm.push(median.rsrpDbm)
    cells.set(key, cell)
  }
  const comparison = createRadioComparison(radios, window)
  for (const cell of cells.values()) comparison.addCell({ length: cell.radios.length, ...cell })
  return comparison.healthOfAll()
}
