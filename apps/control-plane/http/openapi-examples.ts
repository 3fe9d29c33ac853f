import { exampleValues } from './openapi-example-values.ts'

type Json = Record<string, unknown>

type Schema = {
  $ref?: string
  type?: unknown
  anyOf?: Json[]
  oneOf?: Json[]
  allOf?: Json[]
  enum?: unknown[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minItems?: number
  items?: Json
  prefixItems?: Json[]
  properties?: Record<string, Json>
}

const formats: Record<string, unknown> = {
  uuid: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
  'date-time': '2026-05-04T12:30:00.000Z',
  uri: 'https://example.com/hook',
  email: 'fleet@example.com',
}

const maxDepth = 6

/**
 * An example value for a JSON Schema, for operations of routes without an example. `name` is the name of the property that
 * has the schema, by which `exampleValues` knows a realistic value.
 */
export function exampleOf(schema: Json, components: Json, name = '', depth = 0): unknown {
  const { $ref, type, anyOf, oneOf, allOf, enum: words, format } = schema as Schema
  if ($ref) return exampleOf(componentOf($ref, components), components, name, depth)
  if (schema.example !== undefined) return schema.example
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  const known = exampleValues[name]
  if (known !== undefined && suits(known, schema)) return known
  if (words) return words[0]
  const branches = anyOf ?? oneOf
  if (branches) return exampleOf(branches.find(({ type }) => type !== 'null') ?? {}, components, name, depth)
  if (allOf) return Object.assign({}, ...allOf.map((part) => exampleOf(part, components, name, depth)))
  if (type === 'object') return depth > maxDepth ? {} : objectExample(schema, components, depth)
  if (type === 'array') return arrayExample(schema, components, name, depth)
  if (type === 'integer' || type === 'number') return nearest(1, schema)
  if (type === 'boolean') return true
  if (type === 'string') return (format && formats[format]) ?? 'text'
  return null
}

const componentOf = ($ref: string, components: Json): Json => (components[$ref.split('/').at(-1) ?? ''] ?? {}) as Json

/** Whether a value of the table has the type, the words, the pattern and the range of a schema. */
function suits(value: unknown, { type, enum: words, pattern, format, minimum, maximum }: Schema): boolean {
  if (words) return words.includes(value)
  if (typeof value === 'number')
    return (
      (type === 'number' || (type === 'integer' && Number.isInteger(value))) &&
      value === nearest(value, { minimum, maximum })
    )
  return type === 'string' && format === undefined && (pattern === undefined || new RegExp(pattern).test(String(value)))
}

type Range = { minimum?: number | undefined; maximum?: number | undefined }

const nearest = (value: number, { minimum = -Infinity, maximum = Infinity }: Range) =>
  Math.max(minimum, Math.min(maximum, value))

function arrayExample(
  { items = {}, prefixItems, minItems = 0 }: Schema,
  components: Json,
  name: string,
  depth: number,
) {
  if (prefixItems) return prefixItems.map((item) => exampleOf(item, components, name, depth + 1))
  if (depth > maxDepth) return []
  return Array.from({ length: Math.max(1, minItems) }, () => exampleOf(items, components, name, depth + 1))
}

function objectExample(schema: Schema, components: Json, depth: number): Json {
  const { properties = {} } = schema
  const entries = Object.entries(properties).map(([name, property]) => [
    name,
    exampleOf(property, components, name, depth + 1),
  ])
  return Object.fromEntries(entries)
}
