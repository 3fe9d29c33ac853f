import { count } from '../../components/format.ts'
import type { BulkSelection } from './bulk.ts'
import { useFilterTexts } from './filter-choices.ts'

const namesShown = 5

/** Names the first devices: "Truck 1, Truck 2 and 8 more". */
export function namesText(names: readonly string[], total: number): string {
  const shown = names.slice(0, namesShown)
  const others = total - shown.length
  return others > 0 && shown.length > 0 ? `${shown.join(', ')} and ${count(others)} more` : shown.join(', ')
}

type SelectionNamesProps = { selection: BulkSelection; organizationId: string }

/** Names the chosen devices, or the filter that they match. */
export function SelectionNames({ selection: { names, size, body }, organizationId }: SelectionNamesProps) {
  const filter = 'filter' in body ? body.filter : undefined
  const textOf = useFilterTexts(organizationId, filter ? [filter] : [])
  return (
    <p>
      <strong>{filter ? textOf(filter) || 'All devices of the organization' : namesText(names, size)}</strong>
    </p>
  )
}
