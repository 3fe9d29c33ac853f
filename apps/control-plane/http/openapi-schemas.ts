import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { namedEnums, openEnums } from './openapi-enums.ts'
import { pascalCase, singular } from './openapi-names.ts'

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
  for (const [id, words] of Object.entries(namedEnums)) {
    if (text.includes(`"${referenceTo(id)}"`)) define(id, enumSchema(id, words), components)
  }
  const { id, ...rest } = moved.own
  if (typeof id === 'string') return define(id, rest, components)
  return name ? named(name(rest), rest, components) : rest
}

const enumSchema = (id: string, words: readonly string[]): Json => ({
  type: 'string',
  enum: words,
  ...(openEnums.has(id) && { description: 'Later versions can add values: accept values that you do not know.' }),
})

/** Moves a schema to `components`, and returns the reference to it. */
function define(name: string, { id: _id, ...schema }: Json, components: Json): Json {
  const whole = withNamedParts(name, schema, components)
  const known = components[name]
  if (known !== undefined && !isDeepStrictEqual(known, whole)) throw new Error(`Two schemas have the name ${name}.`)
  components[name] = whole
  return { $ref: referenceTo(name) }
}

const referenceTo = (name: string) => `#/components/schemas/${name}`

/** Moves an object to `components`. Also a union, if it has more objects than one. Returns others with their parts named. */
function named(name: string, schema: Json, components: Json): Json {
  const isUnion = unionsOf(schema).some((members) => members.filter(isObject).length > 1)
  return isObject(schema) || isUnion ? define(name, schema, components) : withNamedParts(name, schema, components)
}

const isObject = ({ type, properties }: Json) => type === 'object' && properties !== undefined

const unionsOf = ({ oneOf, anyOf }: Json) => [oneOf, anyOf].filter((members) => members !== undefined) as Json[][]

/** The schema with references to its properties, items and members that are objects. Their names begin with `name`. */
function withNamedParts(name: string, schema: Json, components: Json): Json {
  const { properties, items, additionalProperties: values } = schema as Parts
  const entries = Object.entries(properties ?? {}).map(([key, property]) => [
    key,
    named(name + pascalCase(key), property, components),
  ])
  const unions = Object.entries(schema)
    .filter(([key]) => key === 'oneOf' || key === 'anyOf')
    .map(([key, members]) => [key, namedMembers(name, members as Json[], components)])
  return {
    ...schema,
    ...Object.fromEntries(unions),
    ...(properties ? { properties: Object.fromEntries(entries) } : {}),
    ...(items ? { items: named(itemName(name), items, components) } : {}),
    ...(typeof values === 'object' ? { additionalProperties: named(`${name}Value`, values, components) } : {}),
  }
}

const itemName = (name: string) => (singular(name) === name ? `${name}Item` : singular(name))

type Parts = { properties?: Record<string, Json>; items?: Json; additionalProperties?: Json | boolean }

/** A single object of a union has the name of the union, if the others have no parts. */
function namedMembers(name: string, members: readonly Json[], components: Json): Json[] {
  const isAlone =
    members.filter((member) => isObject(member) || member.items || unionsOf(member).length > 0).length === 1
  return members.map((member, index) =>
    named(isAlone ? name : `${name}${variantOf(member) ?? index + 1}`, member, components),
  )
}

/** The word by which a member of a union differs from the others, or its only property. */
function variantOf({ properties = {} }: Parts): string | undefined {
  const [first, ...others] = Object.entries(properties)
  const word = Object.values(properties).find((property) => typeof property.const === 'string')?.const
  if (typeof word === 'string') return pascalCase(word)
  return first && others.length === 0 ? pascalCase(first[0]) : undefined
}

const enumNames = new Map(Object.entries(namedEnums).map(([name, words]) => [JSON.stringify(words), name]))

/**
 * The same schema in a form that all tools understand: a record with fixed keys as properties, and a tuple with the number
 * of its items, and as a list if they are alike. Common enums become references.
 */
function plainForm(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const schema = withPrecision(value as Json)
  const { enum: words, type: _type, description, ...more } = schema
  if (Array.isArray(words) && Object.keys(more).length === 0) {
    const name = enumNames.get(JSON.stringify(words))
    if (name) return { $ref: referenceTo(name), ...(description ? { description } : {}) }
  }
  const { propertyNames, additionalProperties, ...rest } = schema
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

/** Numbers are doubles. Without the format, generators choose single precision, which moves positions by a metre. */
function withPrecision(schema: Json): Json {
  const isNumber = [schema.type].flat().includes('number')
  return isNumber && schema.format === undefined ? { ...schema, format: 'double' } : schema
}
