import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { createApp } from './app.ts'
import { createOpenApi } from './openapi.ts'
import { ok, type Route, route } from './route.ts'

// No part of the API is deprecated today, so these routes of the test are.
const routes: Route[] = [
  route({
    method: 'get',
    path: '/boats',
    operationId: 'listBoats',
    summary: 'List boats',
    tag: 'Devices',
    access: 'public',
    deprecated: { since: '2027-01-31', sunset: '2028-06-30', use: '`GET /devices`' },
    query: z.strictObject({ size: z.coerce.number().optional() }),
    answers: { 200: { description: 'The boats.', schema: z.array(z.string()) } },
    handle: async () => ok([]),
  }),
  route({
    method: 'get',
    path: '/ships',
    operationId: 'listShips',
    summary: 'List ships',
    tag: 'Devices',
    access: 'public',
    deprecatedQuery: { colour: { since: '2027-02-01', sunset: '2028-07-31' } },
    query: z.strictObject({ colour: z.string().optional().describe('A colour.'), size: z.string().optional() }),
    answers: { 200: { description: 'The ships.', schema: z.array(z.string()) } },
    handle: async () => {
      const headers = { Link: '</ships?cursor=b>; rel="next"', 'content-type': 'application/json' }
      return new Response('[]', { headers })
    },
  }),
]

const lines: Record<string, unknown>[] = []
let api: TestControlPlane
let ask: (path: string) => Promise<Response>
beforeAll(async () => {
  api = await startControlPlane({}, routes)
  const written = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(line.toString()))
      done()
    },
  })
  const app = createApp(routes, { ...api.services, logger: pino(written) })
  ask = async (path) => app.request(path)
})
afterAll(() => api.close())

const headersOf = ({ headers }: Response) => ['deprecation', 'sunset', 'link'].map((name) => headers.get(name))

const documented = (operation: string) =>
  ['deprecation', 'sunset']
    .map((relation) => `<http://routerfleet.test/docs#/Devices/${operation}>; rel="${relation}"; type="text/html"`)
    .join(', ')

test('a deprecated operation says so in every response', async () => {
  const expected = ['@1801353600', 'Fri, 30 Jun 2028 00:00:00 GMT', documented('listBoats')]
  for (const [path, status] of [
    ['/boats', 200],
    ['/boats?size=wide', 400],
  ] as const) {
    const response = await ask(path)
    expect([response.status, headersOf(response)]).toEqual([status, expected])
  }
})

test('a deprecated parameter says so only to those who send it, and keeps the link to the next page', async () => {
  const next = '</ships?cursor=b>; rel="next"'
  expect(headersOf(await ask('/ships?size=1'))).toEqual([null, null, next])
  const used = ['@1801440000', 'Mon, 31 Jul 2028 00:00:00 GMT', `${next}, ${documented('listShips')}`]
  expect(headersOf(await ask('/ships?colour=red'))).toEqual(used)
})

test('the metrics count the requests, and the log names what they use', async () => {
  lines.length = 0
  const before = await counted()
  await ask('/boats')
  await ask('/ships?colour=blue')
  await ask('/ships')
  expect(lines.map(({ deprecated }) => deprecated)).toEqual([['listBoats'], ['colour'], undefined])
  const added = Object.entries(await counted()).map(([use, value]) => [use, value - (before[use] ?? 0)])
  expect(Object.fromEntries(added)).toEqual({ 'listBoats ': 1, 'listShips colour': 1 })
})

async function counted(): Promise<Record<string, number>> {
  const values = (await api.services.metrics.registry.getSingleMetric('http_deprecated_requests_total')?.get())?.values
  return Object.fromEntries(
    (values ?? []).map(({ labels, value }) => [`${labels.operation} ${labels.parameter}`, value]),
  )
}

test('the OpenAPI document says what is deprecated, until when, and what to use', () => {
  const { paths } = createOpenApi(routes, 'https://fleet.example.org')
  expect(paths['/boats']?.get).toMatchObject({
    deprecated: true,
    'x-sunset': '2028-06-30',
    description:
      'Deprecated since 2027-01-31. It can be removed after 2028-06-30. Use `GET /devices` instead.\n\nRequires no credentials.',
  })
  expect(paths['/ships']?.get).not.toHaveProperty('deprecated')
  expect(paths['/ships']?.get?.parameters).toEqual([
    {
      name: 'colour',
      in: 'query',
      required: false,
      schema: { type: 'string' },
      deprecated: true,
      'x-sunset': '2028-07-31',
      description: 'Deprecated since 2027-02-01. It can be removed after 2028-07-31.\n\nA colour.',
    },
    { name: 'size', in: 'query', required: false, schema: { type: 'string' } },
  ])
})
