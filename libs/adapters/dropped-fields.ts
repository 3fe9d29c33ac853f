import type { DroppedField, DropReason } from './adapter.ts'

/** Names that one report may add. Values of further names are counted under `other`. */
const maxNames = 100
const sayableName = /^[\w.:/-]{1,64}$/

/** The name of all fields that are not counted under their own name. */
export const otherField = 'other'

export type DroppedFields = {
  add(field: string, reason: DropReason, count?: number): void
  total(): number
  list(): DroppedField[]
}

/** Creates the counts of dropped values by field name. The number and the form of the names are bounded. */
export function createDroppedFields(): DroppedFields {
  const counts = new Map<string, DroppedField>()
  let total = 0
  return {
    add(field, reason, count = 1) {
      total += count
      const name = sayableName.test(field) ? field : otherField
      const key = `${reason} ${name}`
      const known = counts.get(key)
      if (known) known.count += count
      else if (counts.size < maxNames) counts.set(key, { field: name, reason, count })
      else addOther(counts, reason, count)
    },
    total: () => total,
    list: () => [...counts.values()],
  }
}

function addOther(counts: Map<string, DroppedField>, reason: DropReason, count: number): void {
  const key = `${reason} ${otherField}`
  const known = counts.get(key)
  if (known) known.count += count
  else counts.set(key, { field: otherField, reason, count })
}
