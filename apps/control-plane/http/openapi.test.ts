import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { routes } from '../routes.ts'
import { createOpenApi } from './openapi.ts'

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

describe('the OpenAPI document', () => {
  test('names its licence, its contact and the address of the service', () => {
    expect(document.info).toMatchObject({
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

  test('describes no response with prefixItems, which some validators of responses do not read', () => {
    const responses = operations.map(({ operation }) => operation.responses)
    expect(JSON.stringify([responses, document.components.schemas])).not.toContain('prefixItems')
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
