import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureAccess } from '#fleet/access/bootstrap'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'
import { createWorld, type World } from '../../../../test/security/world.ts'
import { createOpenApi } from '../../http/openapi.ts'
import { routes } from '../../routes.ts'

let api: TestControlPlane
let world: World
let deviceId: string
beforeAll(async () => {
  api = await startControlPlane()
  world = await createWorld(api)
  deviceId = await registerDevice(api.services.pool, world.orgId)
})
afterAll(() => api.close())

const values = [
  ...['', '%20', '0', '-1', '-0', '1.5', '1e3', '1e300', '-1e300', '1e-300', '9007199254740993', '9'.repeat(400)],
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    '0x10',
    'null',
    'undefined',
    '[]',
    '{}',
    'true',
    '%00',
    '%FF%FE',
    '%F0%9F',
    "'",
    '%ED%A0%80',
  ],
  ...['0000-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59-23:59'],
  ...['%2B275760-09-13T00:00:00Z', '2026-02-30T00:00:00Z', '2026-01-01', '0001-01-01T00:00:00%2B23:59'],
  ...['deadbeef-0-zzzzzzzzzzz', 'deadbeef-zzzzzzzzzzz-0', 'deadbeef-0-0', 'x'.repeat(10_000), 'csv', 'geojson'],
  ...[
    '1,2,3,4',
    '180,-90,-180,90',
    '-180,-90,180,90',
    '0,0,0,0',
    '1e1,2,3,4',
    `${'0'.repeat(400)},0,1,1`,
    'devices,devices',
  ],
  ...['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
]

const reads = Object.entries(createOpenApi(routes, 'http://routerfleet.test').paths).flatMap(([path, { get }]) => {
  const parameters = (get?.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const isElsewhere = path.startsWith('/device/') || path === '/fleet/gps/stream'
  return get && !isElsewhere && parameters.length > 0
    ? [{ path, names: parameters.map(({ name }) => String(name)) }]
    : []
})

const required: Record<string, string> = { zoom: 'cluster=true' }

const concrete = (path: string): string =>
  path
    .replace('{modelSegment}', 'router')
    .replace('{deviceId}', deviceId)
    .replaceAll(/\{[zxy]\}/g, '0')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => world[name as keyof World] ?? deviceId)

test.each(reads)('GET $path answers no query with a 5xx', async ({ path, names }) => {
  const failures: string[] = []
  // All routes together need more requests than one key may send in a minute.
  const { adminKey } = await ensureAccess(api.services, { demo: false })
  for (const name of names) {
    const queries = values.flatMap((value) => [
      `${name}=${value}`,
      ...(required[name] ? [`${name}=${value}&${required[name]}`] : []),
    ])
    queries.push(`${name}=1&${name}=2`, `${name}[]=1`, name)
    for (const query of queries) {
      const answer = await api.fetch(`${concrete(path)}?${query}`, {
        headers: { authorization: `Bearer ${adminKey}` },
      })
      await answer.arrayBuffer()
      if (answer.status >= 500 || answer.status === 429) failures.push(`${answer.status} ${query.slice(0, 100)}`)
    }
  }
  expect(failures).toEqual([])
})

test('empty windows and extreme times do not return 5xx', async () => {
  const times = ['0001-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '2026-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59']
  for (const path of [`/api/router/${deviceId}/telemetry/history`, '/fleet/dwells', '/fleet/trips']) {
    for (const from of times) {
      for (const to of times) {
        for (const more of [
          '',
          ...(path.endsWith('history') ? ['&stepSeconds=1', '&stepSeconds=86400&limit=10000'] : []),
        ]) {
          const answer = await api.fetch(`${path}?from=${from}&to=${to}${more}`, {
            headers: { authorization: `Bearer ${api.platformKey}` },
          })
          await answer.arrayBuffer()
          expect(answer.status, `${path} ${from} ${to} ${more}`).toBeLessThan(500)
        }
      }
    }
  }
})
