import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { pascalCase } from './openapi-names.ts'

type Json = Record<string, unknown>

/**
 * A schema as JSON Schema 2020-12. Schemas with an id are moved to `components`. An object without an id is moved too if
 * `name` has a name for it.
 */
export function jsonSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
  components: Json,
  name?: (schema: Json) => string,
): Json {
  const {
    $schema: _dialect,
    $defs,
    ...own
  } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Json
  const text = JSON.stringify({ own, $defs: $defs ?? {} }, (_key, value) => plainForm(value))
  const moved = JSON.parse(text.replaceAll('#/$defs/', '#/components/schemas/'))
  for (const [id, definition] of Object.entries<Json>(moved.$defs)) define(id, definition, components)
  const { id, ...rest } = moved.own
  if (typeof id === 'string') return define(id, rest, components)
  return name ? named(rest, () => name(rest), components) : rest
}

/** Moves a schema to `components`, and returns the reference to it. */
function define(name: string, { id: _id, ...schema }: Json, components: Json): Json {
  const known = components[name]
  if (known !== undefined && !isDeepStrictEqual(known, schema)) throw new Error(`Two schemas have the name ${name}.`)
  components[name] = schema
  return { $ref: `#/components/schemas/${name}` }
}

/** Moves an object, or a union with its objects, to `components`. Returns other schemas as they are. */
function named(schema: Json, name: () => string, components: Json): Json {
  if (schema.type === 'object') return define(name(), schema, components)
  for (const union of ['oneOf', 'anyOf'] as const) {
    const members = schema[union] as Json[] | undefined
    if (!members?.some(({ type }) => type === 'object')) continue
    const parts = members.map((member, index) =>
      named(member, () => `${name()}${variantOf(member) ?? index + 1}`, components),
    )
    return define(name(), { ...schema, [union]: parts }, components)
  }
  return schema
}

/** The word by which a member of a union differs from the others. */
function variantOf({ properties = {} }: { properties?: Record<string, Json> }): string | undefined {
  const word = Object.values(properties).find((property) => typeof property.const === 'string')?.const
  return typeof word === 'string' ? pascalCase(word) : undefined
}

/**
 * The same schema in a form that all tools understand: a record with fixed keys as properties, and a tuple with the number
 * of its items, and as a list if they are alike.
 */
function plainForm(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  const { propertyNames, additionalProperties, ...rest } = schema as Json
  const keys = (propertyNames as { enum?: string[] } | undefined)?.enum
  if (keys && 'required' in rest) {
    return { ...rest, properties: Object.fromEntries(keys.map((key) => [key, additionalProperties])) }
  }
  const { prefixItems, items: others, ...list } = rest
  if (!Array.isArray(prefixItems) || others) return schema
  const { length } = prefixItems
  const isUniform = prefixItems.every((item) => JSON.stringify(item) === JSON.stringify(prefixItems[0]))
  const items = isUniform ? { items: prefixItems[0] } : { prefixItems, items: {} }
  return { ...list, ...items, minItems: length, maxItems: length }
}
