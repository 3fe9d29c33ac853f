import { count } from '../../components/format.ts'
import type { BulkSelection } from './bulk.ts'
import { filterText } from './filter-words.ts'

const namesShown = 5

/** Names the first devices: "Truck 1, Truck 2 and 8 more". */
export function namesText(names: readonly string[], total: number): string {
  const shown = names.slice(0, namesShown)
  const others = total - shown.length
  return others > 0 && shown.length > 0 ? `${shown.join(', ')} and ${count(others)} more` : shown.join(', ')
}

/** Names the chosen devices, or the filter that they match. */
export const SelectionNames = ({ selection: { names, size, isAll } }: { selection: BulkSelection }) => (
  <p>
    <strong>{isAll ? filterText() || 'All devices of the organization' : namesText(names, size)}</strong>
  </p>
)
