import { literal } from './layout.ts'

export type Schema = {
  $ref?: string
  type?: string | string[]
  const?: string | boolean
  enum?: (string | number | null)[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  prefixItems?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  format?: string
  description?: string
}

/** The name of the schema that a `$ref` points to. */
export const nameOf = (ref: string): string => ref.replace('#/components/schemas/', '')

/** Returns the Python type of a JSON value. `nameType` makes the type of a named schema. */
export function pythonType(schema: Schema, nameType: (name: string) => string): string {
  if (schema.$ref) return nameType(nameOf(schema.$ref))
  if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`
  if (schema.enum) return `Literal[${schema.enum.map(literal).join(', ')}]`
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return union(choices.map((choice) => pythonType(choice, nameType)))
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => pythonType({ ...schema, type }, nameType)))
  const { prefixItems = [], items = {} } = schema
  switch (schema.type) {
    case 'string':
      return 'str'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case 'null':
      return 'None'
    case 'array': {
      // JSON has no tuples: an answer contains lists.
      const types = [...prefixItems, ...(schema.items || prefixItems.length === 0 ? [items] : [])]
      const entry = union(types.map((type) => pythonType(type, nameType)))
      return `list[${entry}]`
    }
    case 'object':
      return mapType(schema, nameType)
    default:
      return 'Any'
  }
}

function mapType({ properties, additionalProperties }: Schema, nameType: (name: string) => string): string {
  if (properties && Object.keys(properties).length > 0) throw new Error('An object without a name has no Python type.')
  const values = typeof additionalProperties === 'object' ? additionalProperties : {}
  return `dict[str, ${pythonType(values, nameType)}]`
}

function union(types: readonly string[]): string {
  if (types.includes('Any')) return 'Any'
  // None comes last. Brackets can contain unions of their own.
  const distinct = [...new Set(types.flatMap((type) => (type.includes('[') ? [type] : type.split(' | '))))]
  return [...distinct.filter((type) => type !== 'None'), ...distinct.filter((type) => type === 'None')].join(' | ')
}
