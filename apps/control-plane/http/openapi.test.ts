import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { version } from '#core/version'
import { routes } from '../routes.ts'
import { createOpenApi } from './openapi.ts'
import { operationVerbs } from './openapi-names.ts'

type Media = { schema: object; example?: unknown }
type Response = { description: string; content?: Record<string, Media> }

const document = createOpenApi(routes, 'https://fleet.example.org/')
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, path, method, operation })),
)

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
// Formats of our schemas that JSON Schema does not define.
for (const format of ['binary', 'guid']) ajv.addFormat(format, true)
ajv.addSchema(document, 'openapi.json')

/** The errors of a value against the schema at a place in the document. */
function errorsAt(place: readonly string[], value: unknown): string[] {
  const pointer = place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
  const validate = ajv.compile({ $ref: `openapi.json#/${pointer}` })
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${place.join(' ')}${instancePath} ${message}`)
}

/** A part of the document as JSON, with the schemas to which it refers. */
function textOf(part: unknown, seen = new Set<string>()): string {
  const text = JSON.stringify(part)
  const names = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = '']) => name)
  const added = new Set(names.filter((name) => !seen.has(name)))
  for (const name of added) seen.add(name)
  return text + [...added].map((name) => textOf(document.components.schemas[name], seen)).join('')
}

type Part = {
  properties?: Record<string, Part>
  items?: Part
  additionalProperties?: Part | boolean
  anyOf?: Part[]
  oneOf?: Part[]
}

/** The schemas inside a schema. */
function partsOf({ properties, items, additionalProperties, anyOf = [], oneOf = [] }: Part): Part[] {
  const inside = [...Object.values(properties ?? {}), ...anyOf, ...oneOf, items, additionalProperties]
  return inside.filter((part) => typeof part === 'object').flatMap((part) => [part, ...partsOf(part)])
}

describe('the OpenAPI document', () => {
  test('names its version, its licence, its contact and the address of the service', () => {
    expect(document.info).toMatchObject({
      version,
      license: { identifier: 'Apache-2.0' },
      contact: { name: expect.any(String) },
    })
    expect(document.servers).toEqual([{ url: 'https://fleet.example.org', description: 'This service' }])
  })

  test('describes every tag, and uses only those', () => {
    const used = new Set(operations.flatMap(({ operation }) => operation.tags))
    expect(document.tags.map(({ name }) => name).sort()).toEqual([...used].sort())
    for (const { name, description } of document.tags)
      expect([name, description]).toEqual([name, expect.stringMatching(/\.$/)])
  })

  test('has every route once', () => {
    expect(
      routes.map(({ method, path }) => `${method} ${path}`).filter((name, at, all) => all.indexOf(name) < at),
    ).toEqual([])
  })

  test('names every operation once', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(ids.filter((id, at) => ids.indexOf(id) < at)).toEqual([])
  })

  test('names the objects inside its schemas', () => {
    const parts = Object.values(document.components.schemas).flatMap((schema) => partsOf(schema as Part))
    expect(parts.filter(({ properties }) => properties)).toEqual([])
  })

  test('has no schema that nothing refers to', () => {
    const text = JSON.stringify(document)
    const unused = Object.keys(document.components.schemas).filter(
      (name) => !text.includes(`"#/components/schemas/${name}"`),
    )
    expect(unused).toEqual([])
  })
})

describe.for(operations)('$name', ({ path, method, operation }) => {
  const place = ['paths', path, method]

  test('accepts invisible characters in no text by which people name or describe something', () => {
    const words = new Set(['name', 'description', 'notes', 'comment', 'reason', 'model', 'models', 'version'])
    type Schema = Part & { $ref?: string; type?: string | string[]; pattern?: string; enum?: unknown[] }
    const schemas = document.components.schemas as Record<string, Schema>
    const textsOf = (schema: Schema, member: string, seen: readonly string[]): [member: string, pattern: string][] => {
      const name = schema.$ref?.split('/').at(-1)
      if (name !== undefined) return seen.includes(name) ? [] : textsOf(schemas[name] ?? {}, member, [...seen, name])
      const isText = [schema.type].flat().includes('string') && !schema.enum
      const inside = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])]
      return [
        ...(isText && words.has(member) ? [[member, schema.pattern ?? ''] as [string, string]] : []),
        ...inside.flatMap((part) => textsOf(part, member, seen)),
        ...Object.entries(schema.properties ?? {}).flatMap(([inner, part]) => textsOf(part, inner, seen)),
      ]
    }
    const texts = operations.flatMap(({ name, operation: { requestBody } }) =>
      Object.values((requestBody as { content: Record<string, Media> } | undefined)?.content ?? {}).flatMap(
        ({ schema }) => textsOf(schema, '', []).map(([member, pattern]) => ({ name: `${name} ${member}`, pattern })),
      ),
    )
    expect(texts.length).toBeGreaterThan(20)
    const accepting = (text: string) => texts.filter(({ pattern }) => new RegExp(pattern).test(text))
    for (const text of ['a\u200bb', 'a\u202eb', 'a\u2066b', '\ufeffa'])
      expect(accepting(text).map(({ name }) => name)).toEqual([])
    expect(accepting('Zürich ☎️ 12" №5')).toEqual(texts)
  })

  test('describes no response with prefixItems, which some validators of responses do not read', () => {
    expect(textOf(operation.responses)).not.toContain('prefixItems')
  })

  test('has a verb and a noun as its name', () => {
    expect(operation.operationId).toMatch(new RegExp(`^(${operationVerbs.join('|')})([A-Z][a-z]*|[0-9])+$`))
  })

  test('has named schemas of its objects', () => {
    const responses = Object.values(operation.responses as Record<string, Response>)
    const contents = [operation.requestBody as Partial<Response>, ...responses].map((part) => part?.content ?? {})
    const unnamed = contents
      .flatMap((content) => Object.values(content))
      .flatMap(({ schema }) => [schema as Part, ...partsOf(schema)])
      .filter(({ properties }) => properties)
    expect(unnamed).toEqual([])
  })

  test('has a summary, a description, a successful response and an error', () => {
    expect(operation.summary).not.toBe('')
    expect(operation.description).toMatch(/\.$/)
    const statuses = Object.keys(operation.responses)
    expect(statuses.some((status) => /^[23]/.test(status))).toBe(true)
    expect(statuses.some((status) => /^4/.test(status))).toBe(true)
  })

  test('has examples that match their schemas', () => {
    const body = operation.requestBody as { content: Record<string, Media> } | undefined
    const bodies = Object.entries(body?.content ?? {}).map(([type, { example }]) => ({
      at: [...place, 'requestBody', 'content', type],
      example,
    }))
    const answers = Object.entries(operation.responses as Record<string, Response>).flatMap(([status, { content }]) =>
      Object.entries(content ?? {}).map(([type, { example }]) => ({
        at: [...place, 'responses', status, 'content', type],
        example,
      })),
    )
    const examples = [...bodies, ...answers].filter(({ example }) => example !== undefined)
    expect(examples.flatMap(({ at, example }) => errorsAt([...at, 'schema'], example))).toEqual([])
  })

  test('has parameters whose examples and defaults match their schemas', () => {
    const faults = operation.parameters.flatMap(({ schema }, index) => {
      const values = Object.entries(schema as object).filter(([key]) => key === 'example' || key === 'default')
      return values.flatMap(([, value]) => errorsAt([...place, 'parameters', String(index), 'schema'], value))
    })
    expect(faults).toEqual([])
  })
})
