import { isSetSecret } from '../../state/profile-settings.ts'

/** Where the variables of an organization, a group or a device are. */
export type VariablesAddress =
  | `/orgs/${string}/variables`
  | `/orgs/${string}/groups/${string}/variables`
  | `/devices/${string}/variables`

/** What a person types for one variable. `kept` is the placeholder of a secret that is set. */
export type VariableRow = { id: number; name: string; kind: VariableKind; text: string; kept?: unknown }

export const variableKinds = { text: 'Text', secret: 'Secret text', json: 'Number, list or object' } as const
type VariableKind = keyof typeof variableKinds

type Variables = { [name: string]: unknown }
type Fault = { pointer: string; code: string; detail: string }

let rows = 0
export function newRow(row: Partial<VariableRow> = {}): VariableRow {
  rows += 1
  return { name: '', kind: 'text', text: '', ...row, id: rows }
}

/** One row for each variable, by name. */
export const rowsOf = (variables: Variables): VariableRow[] =>
  Object.entries(variables)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => {
      if (typeof value === 'string') return newRow({ name, text: value })
      if (isSetSecret(value)) return newRow({ name, kind: 'secret', kept: value })
      return newRow({ name, kind: 'json', text: JSON.stringify(value) })
    })

/** The member of the form that shows what is wrong with a row. */
export const memberOf = (part: 'name' | 'value', { id }: VariableRow): string => `${part}-${id}`

/** The variables that the rows set, or what is wrong with them. Rows without name and value do not count. */
export function variablesOf(all: readonly VariableRow[]): { variables: Variables } | { faults: Fault[] } {
  const filled = all.filter(({ name, text, kept }) => name.trim() !== '' || text !== '' || kept !== undefined)
  const variables = new Map<string, unknown>()
  const faults: Fault[] = []
  const refuse = (part: 'name' | 'value', row: VariableRow, detail: string) =>
    faults.push({ pointer: `/${memberOf(part, row)}`, code: 'invalid', detail })
  for (const row of filled) {
    const name = row.name.trim()
    if (name === '') refuse('name', row, 'Enter a name.')
    else if (variables.has(name)) refuse('name', row, 'Another row has this name.')
    const value = typedValue(row)
    if (value === undefined) refuse('value', row, missingText(row))
    variables.set(name, value)
  }
  return faults.length > 0 ? { faults } : { variables: Object.fromEntries(variables) }
}

function typedValue({ kind, text, kept }: VariableRow): unknown {
  if (kind === 'text') return text
  if (kind === 'secret') return text === '' ? kept : { $secret: text }
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined
  }
}

const missingText = ({ kind }: VariableRow): string =>
  kind === 'secret' ? 'Enter the secret.' : 'Enter JSON, for example 7, true or ["a", "b"].'
