import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AcceptedChange, findOasdiff, incompatibleChanges, judge } from '#test/contract'
import { openEnums, openUnions } from '../../apps/control-plane/http/openapi-enums.ts'
import { document } from '../../clients/typescript/document.ts'
import { keptFile, keptForm } from '../../release/contract.ts'

const repository = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const oasdiff = findOasdiff()
const missing = 'oasdiff is not installed (.ci/run installs it)'

test('the OpenAPI document is compatible with that of the last release', async ({ skip }) => {
  if (!oasdiff) return skip(missing)
  const changes = await incompatibleChanges(oasdiff, JSON.parse(read(keptFile)), JSON.parse(keptForm(document)))
  const accepted = JSON.parse(read('docs/contract/accepted-changes.json')) as AcceptedChange[]
  // CONTRIBUTING.md says what to do about a refused change.
  expect(judge(changes, accepted)).toEqual({ refused: [], unused: [] })
})

test('docs/versioning.md lists the open enums and unions', () => {
  const [, section = ''] = /^### Open enums$(.*?)^#/ms.exec(read('docs/versioning.md')) ?? []
  const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(listed).toEqual([...openEnums, ...openUnions].sort())
  for (const name of listed) expect(Object.keys(document.components.schemas)).toContain(name)
})

test('the kept form has the contract and no prose', () => {
  const kept = JSON.parse(keptForm(document))
  expect(Object.keys(kept.paths).sort()).toEqual(Object.keys(document.paths).sort())
  expect(Object.keys(kept.components.schemas).sort()).toEqual(Object.keys(document.components.schemas).sort())
  // A property with the name of a member of prose stays.
  expect(kept.components.schemas.Webhook.properties).toHaveProperty('description')
  expect(kept.components.schemas.JobKind).not.toHaveProperty('description')
  expect(kept.paths['/devices'].get).not.toHaveProperty('summary')
})

const answerOf = (schema: string) => ({
  200: { content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } } },
})

/** A small document, and its changes. */
const boats = () => ({
  openapi: '3.1.0',
  info: { title: 'Boats', version: '1.0.0' },
  paths: {
    '/boats': {
      get: {
        operationId: 'listBoats',
        parameters: [
          { name: 'sort', in: 'query', required: false, schema: { type: 'string', enum: ['name', 'length'] } },
        ],
        responses: answerOf('Boat'),
      } as Record<string, unknown> & { parameters: object[] },
    },
  } as Record<string, Record<string, object>>,
  webhooks: {
    'boat.sunk': {
      post: { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Sinking' } } } } },
    },
  },
  components: {
    schemas: {
      Boat: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 100 } as object,
          state: { type: 'string', enum: ['afloat', 'sunk'] },
          kind: { $ref: '#/components/schemas/JobKind' },
        } as Record<string, object>,
        required: ['name', 'state', 'kind'],
      },
      JobKind: { type: 'string', enum: ['tow', 'paint'] },
      Sinking: { type: 'object', properties: { at: { type: 'string' } } as Record<string, object>, required: ['at'] },
    },
  },
})
type Boats = ReturnType<typeof boats>

const listBoats = (paths: Boats['paths']) => paths['/boats']?.get as { [key: string]: unknown; parameters: object[] }
const parameter = (name: string, required: boolean) => ({ name, in: 'query', required, schema: { type: 'string' } })
const deprecate = (operation: Record<string, unknown>, days: number) => {
  const sunset = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  Object.assign(operation, { deprecated: true, 'x-sunset': sunset })
}

async function idsOf(oasdiff: string, change: (document: Boats) => void): Promise<string[]> {
  const changed = boats()
  change(changed)
  return (await incompatibleChanges(oasdiff, boats(), changed)).map(({ id }) => id)
}

describe('the comparison refuses', () => {
  test.for<[string, string, (document: Boats) => void]>([
    [
      'a removed member',
      'response-required-property-removed',
      ({ components: { schemas } }) => {
        delete schemas.Boat.properties.name
        schemas.Boat.required = ['state', 'kind']
      },
    ],
    [
      'a new required parameter',
      'new-required-request-parameter',
      ({ paths }) => {
        listBoats(paths).parameters.push(parameter('port', true))
      },
    ],
    [
      'a narrowed enum',
      'request-parameter-enum-value-removed',
      ({ paths }) => {
        listBoats(paths).parameters = [{ ...parameter('sort', false), schema: { type: 'string', enum: ['name'] } }]
      },
    ],
    [
      'a removed parameter',
      'request-parameter-removed',
      ({ paths }) => {
        listBoats(paths).parameters = []
      },
    ],
    [
      'a new value of a closed enum',
      'response-property-enum-value-added',
      ({ components: { schemas } }) => {
        schemas.Boat.properties.state = { type: 'string', enum: ['afloat', 'sunk', 'docked'] }
      },
    ],
    [
      'a removed operation',
      'api-path-removed-without-deprecation',
      (document) => {
        document.paths = {}
      },
    ],
    [
      'a removal too soon after the deprecation',
      'api-sunset-date-too-small',
      ({ paths }) => {
        deprecate(listBoats(paths), 300)
      },
    ],
    [
      'another name of an operation',
      'operation-id-changed',
      ({ paths }) => {
        listBoats(paths).operationId = 'getBoats'
      },
    ],
    [
      'another name of a schema',
      'schema-removed',
      ({ paths, components: { schemas } }) => {
        Object.assign(schemas, { Vessel: schemas.Boat })
        delete (schemas as Partial<typeof schemas>).Boat
        Object.assign(paths['/boats'] ?? {}, { get: { ...listBoats(paths), responses: answerOf('Vessel') } })
      },
    ],
    [
      'a member removed from a webhook',
      'response-required-property-removed',
      ({ components: { schemas } }) => {
        Object.assign(schemas.Sinking, { properties: {}, required: [] })
      },
    ],
  ])('%s', async ([, id, change], { skip }) => {
    if (!oasdiff) return skip(missing)
    expect(await idsOf(oasdiff, change)).toContain(id)
  })
})

describe('the comparison allows', () => {
  test.for<[string, (document: Boats) => void]>([
    ['an optional parameter', ({ paths }) => listBoats(paths).parameters.push(parameter('port', false))],
    [
      'a member of a response',
      ({ components: { schemas } }) => {
        schemas.Boat.properties.length = { type: 'number' }
        schemas.Boat.required.push('length')
      },
    ],
    [
      'a member of a webhook',
      ({ components: { schemas } }) => {
        schemas.Sinking.properties.cause = { type: 'string' }
        schemas.Sinking.required.push('cause')
      },
    ],
    ['a new value of an open enum', ({ components: { schemas } }) => schemas.JobKind.enum.push('clean')],
    [
      'longer values in a response',
      ({ components: { schemas } }) => {
        schemas.Boat.properties.name = { type: 'string', maxLength: 200 }
      },
    ],
    [
      'a new operation',
      ({ paths }) => {
        paths['/ports'] = { get: { operationId: 'listPorts', responses: { 204: {} } } }
      },
    ],
    ['the deprecation of an operation, with enough time', ({ paths }) => deprecate(listBoats(paths), 400)],
  ])('%s', async ([, change], { skip }) => {
    if (!oasdiff) return skip(missing)
    expect(await idsOf(oasdiff, change)).toEqual([])
  })
})

test('an accepted change needs its id and its text, and an entry without a change is reported', () => {
  const change = {
    id: 'request-parameter-removed',
    path: '/boats',
    text: 'deleted the `query` request parameter `sort`',
  }
  const entry = { id: change.id, text: '`sort`', reason: 'It never had an effect.' }
  expect(judge([change], [entry])).toEqual({ refused: [], unused: [] })
  expect(judge([change], [{ ...entry, path: '/ports' }])).toEqual({
    refused: [change],
    unused: [{ ...entry, path: '/ports' }],
  })
})
