type Columns = Record<string, unknown[]>

/**
 * Turns a columnar list (arrays of equal length by dotted path) into rows. An object whose parts are all null becomes
 * null: the service writes a missing location that way.
 */
export function rowsOf<Row>(columns: Columns | undefined): Row[] {
  if (!columns) return []
  const paths = Object.keys(columns).map((path) => ({ parts: path.split('.'), values: columns[path] ?? [] }))
  const length = paths[0]?.values.length ?? 0
  const rows: Row[] = []
  for (let index = 0; index < length; index++) {
    const row: Record<string, unknown> = {}
    for (const { parts, values } of paths) {
      const value = values[index] ?? null
      const [head = '', tail] = parts
      if (tail === undefined) {
        row[head] = value
        continue
      }
      const inner = row[head]
      if (inner !== null && typeof inner === 'object') (inner as Record<string, unknown>)[tail] = value
      else if (value !== null) {
        // The first part that is not null creates the object, with null for the parts before it.
        const made: Record<string, unknown> = {}
        for (const other of paths) if (other.parts[0] === head && other.parts[1]) made[other.parts[1]] = null
        made[tail] = value
        row[head] = made
      } else row[head] ??= null
    }
    rows.push(row as Row)
  }
  return rows
}
