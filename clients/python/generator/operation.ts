import { literal, snakeCase } from './layout.ts'
import { nameOf, pythonType, type Schema } from './python-type.ts'

// What a method in Python needs to know about an operation of the document.

type Content = Record<string, { schema?: Schema }>
type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
  description?: string
}
export type DocumentOperation = {
  operationId: string
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, unknown>[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}
export type Document = {
  paths: Record<string, Record<string, DocumentOperation>>
  components: { schemas: Record<string, Schema> }
}

export type Argument = {
  name: string
  /** The name in the request. */
  sentAs: string
  place: Parameter['in']
  type: string
  isRequired: boolean
  description: string
}

export type Body = {
  /** `json`, `form`, or `content` for a text or bytes. */
  kind: 'json' | 'form' | 'content'
  type: string
  isRequired: boolean
  contentTypes: string[]
}

export type Answer = {
  /** The types of JSON responses, with the value of `format` that selects the type, if one does. */
  json: { type: string; schemaName: string; format?: 'geojson' }[]
  /** The response can be empty: 204. */
  isMaybeEmpty: boolean
  /** The response can be 304. */
  isMaybeUnchanged: boolean
  /** Media types that are not JSON. */
  files: string[]
}

/** The names of long lists of choices. */
export type Choices = ReadonlyMap<string, string>

/** Returns the choices of parameters that are too long for the head of a method, named after the first operation with them. */
export function longChoices({ paths }: Document): [type: string, name: string][] {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const found = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters
      // A list of choices is twice in the head: one choice or several.
      .filter(({ schema }) => schema.items?.enum || (schema.enum?.join() ?? '').length > 40)
      .map(({ name, schema }): [string, string] => [
        pythonType(schema.items ?? schema, typeName),
        [operationId, name].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''),
      ]),
  )
  return [...new Map(found.toReversed())].toReversed()
}

export const typeName = (name: string): string => `types.${name}`
const isJson = (media: string): boolean => media === 'application/json' || media.endsWith('+json')

export function argumentsOf(operation: DocumentOperation, choices: Choices = new Map()): Argument[] {
  return (operation.parameters ?? []).map((parameter) => ({
    name: snakeCase(parameter.name),
    sentAs: parameter.name,
    place: parameter.in,
    type: argumentType(parameter.schema, choices),
    isRequired: parameter.required === true,
    description: parameter.description ?? '',
  }))
}

function argumentType(schema: Schema, choices: Choices): string {
  if (schema.enum?.join() === 'true,false') return 'bool'
  if (schema.format === 'date-time') return 'str | datetime'
  if (schema.type !== 'array') {
    const type = pythonType(schema, typeName)
    return type === 'Any' ? 'str' : (choices.get(type) ?? type)
  }
  const type = pythonType(schema.items ?? {}, typeName)
  const entry = choices.get(type) ?? type
  return `${entry} | Sequence[${entry}]`
}

export function bodyOf({ requestBody }: DocumentOperation, schemas: Record<string, Schema>): Body | undefined {
  if (!requestBody) return undefined
  const contentTypes = Object.keys(requestBody.content)
  const [json = contentTypes.find((media) => media === 'application/x-www-form-urlencoded')] =
    contentTypes.filter(isJson)
  const schema = requestBody.content[json ?? '']?.schema
  const isRequired = requestBody.required === true
  // A text in JSON is sent as the text that it stands for.
  const isText = !schema || schema.type === 'string'
  if (isText)
    return {
      kind: 'content',
      type: 'str | bytes',
      isRequired,
      contentTypes: contentTypes.filter((type) => !isJson(type)),
    }
  const type = pythonType(schema, typeName)
  const named = schema.$ref ? schemas[nameOf(schema.$ref)] : undefined
  const isOpen = named?.properties !== undefined && typeof named.additionalProperties === 'object'
  return {
    kind: isJson(json ?? '') ? 'json' : 'form',
    // A dict literal of a TypedDict cannot have other members.
    type: isOpen ? `${type} | dict[str, Any]` : type,
    isRequired,
    contentTypes: [],
  }
}

export function answerOf({ responses }: DocumentOperation): Answer {
  const contents = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    status < '300' ? Object.entries(content) : [],
  )
  const json = contents
    .filter(([media]) => isJson(media))
    .map(([media, { schema = {} }]) => ({
      type: pythonType(schema, typeName),
      schemaName: schema.$ref ? nameOf(schema.$ref) : '',
      ...(media === 'application/geo+json' && { format: 'geojson' as const }),
    }))
  return {
    json,
    isMaybeEmpty: '204' in responses,
    isMaybeUnchanged: '304' in responses,
    // JSON that is also offered in another form is read as JSON.
    files: contents.map(([media]) => media).filter((media) => !isJson(media) && media !== 'application/x-protobuf'),
  }
}

/** Returns the type of the items if the response is a page of a list. */
export function itemType(operation: DocumentOperation, schemas: Record<string, Schema>): string | undefined {
  const [page] = answerOf(operation).json
  const { properties = {} } = schemas[page?.schemaName ?? ''] ?? {}
  const hasCursor = operation.parameters?.some(({ name }) => name === 'cursor')
  if (!hasCursor || !properties.items || !properties.nextCursor) return undefined
  return pythonType(properties.items.items ?? {}, typeName)
}

/** A request needs the key, unless the document says that the operation has no use for it. */
export const needsKey = ({ security = [] }: DocumentOperation): boolean =>
  security.some((scheme) => 'bearer' in scheme || 'deviceToken' in scheme)

export const choiceOf = (values: readonly string[]): string => `Literal[${values.map(literal).join(', ')}]`
