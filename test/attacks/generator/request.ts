import { gzipSync, zstdCompressSync } from 'node:zlib'
import type { OpenApiDocument } from '../../../apps/control-plane/http/openapi.ts'
import { jsonValue } from './json.ts'
import type { Random } from './random.ts'
import { telemetryReport } from './telemetry.ts'

/** The ids and credentials that the generator uses in requests. */
export type Known = {
  ids: readonly [string, ...string[]]
  /** Authorization headers, valid and invalid. The valid ones belong to attackers. */
  credentials: readonly [string, ...string[]]
  deviceTokens: readonly [string, ...string[]]
}

export type GeneratedRequest = {
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer | undefined
}

type Operation = { method: string; path: string; queryNames: readonly string[] }
export type Operations = readonly [Operation, ...Operation[]]

/** All operations of the contract except the event stream, which does not end. */
export function operationsOf(document: OpenApiDocument): Operations {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters }]) => ({
      method: method.toUpperCase(),
      path,
      queryNames: (parameters as { in: string; name: string }[])
        .filter((parameter) => parameter.in === 'query')
        .map(({ name }) => name),
    })),
  )
  const [first, ...others] = operations.filter(({ path }) => path !== '/fleet/gps/stream')
  if (first === undefined) throw new Error('The contract has no operations.')
  return [first, ...others]
}

const oddWords = [
  '',
  '0',
  '-1',
  '1e300',
  '10',
  'NaN',
  'true',
  '%00',
  '%F0%9F%98%80',
  '%ff',
  '..%2f..%2f',
  '*',
  "'",
  '2026-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '-180,-90,180,90',
  '-8.5,51.8,-8.3,52',
  '1e999,0,0,0',
  'deadbeef-0-zzzzzzzzzzz',
  'csv',
  'ndjson',
  'geojson',
  'devices,coverage,dwells,trails',
] as const

const oddHeaders: readonly [[string, string], ...[string, string][]] = [
  ['range', 'bytes=0-1'],
  ['if-match', '*'],
  ['if-none-match', 'W/"x"'],
  ['last-event-id', 'deadbeef-0-zzzzzzzzzzz'],
  ['accept-encoding', 'br;q=0, gzip;q=1e9, *;q=0'],
  ['expect', '100-continue'],
  ['x-forwarded-for', '1.2.3.4, ::1, unknown'],
  ['x-request-id', 'x'.repeat(5_000)],
  ['idempotency-key', 'the-same-key'],
  ['content-length', '5'],
  ['transfer-encoding', 'chunked'],
  ['x-http-method-override', 'DELETE'],
]

/** Returns a random request. The same random source produces the same request for every target. */
export function generateRequest(random: Random, operations: Operations, known: Known, nowMs: number): GeneratedRequest {
  return random.chance(0.4) ? telemetryRequest(random, known, nowMs) : apiRequest(random, operations, known)
}

function telemetryRequest(random: Random, known: Known, nowMs: number): GeneratedRequest {
  const { type, body } = random.chance(0.85)
    ? telemetryReport(random, nowMs)
    : { type: 'application/json', body: `{"samples":${jsonValue(random)}}` }
  const headers = { authorization: `Bearer ${random.pick(known.deviceTokens)}`, 'content-type': type }
  return withOddities(random, { method: 'POST', path: '/telemetry', headers, body: Buffer.from(body) })
}

function apiRequest(random: Random, operations: Operations, known: Known): GeneratedRequest {
  const operation = random.pick(operations)
  const id = () => (random.chance(0.8) ? random.pick(known.ids) : random.pick(oddWords))
  const word = () =>
    random.chance(0.5) ? random.pick(oddWords) : random.chance(0.5) ? id() : 'x'.repeat(random.size(8_000))
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'modelSegment' ? 'router' : id()))
  const query = operation.queryNames.filter(() => random.chance(0.3)).map((name) => `${name}=${word()}`)
  // Do not wait for a job. Another attack covers long polls.
  const search = path === '/device/jobs/next' ? 'waitSeconds=0' : query.join('&')
  const hasBody = operation.method !== 'GET' || random.chance(0.05)
  return withOddities(random, {
    method: random.chance(0.03) ? random.pick(['PUT', 'TRACE', 'HEAD', 'OPTIONS', 'PATCH']) : operation.method,
    path: search === '' ? path : `${path}?${search}`,
    headers: {
      authorization: random.pick(known.credentials),
      ...(hasBody && { 'content-type': random.pick(['application/json', 'application/json', 'text/csv', 'x']) }),
    },
    body: hasBody ? Buffer.from(apiBody(random, known)) : undefined,
  })
}

/** Returns a body with the members that the routes know and random values. */
function apiBody(random: Random, known: Known): string {
  if (random.chance(0.3)) return jsonValue(random)
  const names = [
    'name',
    'serial',
    'model',
    'tags',
    'settings',
    'parameters',
    'kind',
    'deviceIds',
    'groupId',
    'url',
  ] as const
  const more = [
    'smartTags',
    'description',
    'plan',
    'organizationId',
    'role',
    'scopes',
    'toOrgId',
    'schedule',
    'rollout',
  ] as const
  const memberValue = () => {
    if (random.chance(0.3)) return jsonValue(random)
    if (random.chance(0.3)) return `"${random.pick(known.ids)}"`
    return random.pick(['"reboot"', '"collect_diagnostics"', '"n"', '[]', '["a"]', '{}', '{"a":{"$secret":"x"}}', '1'])
  }
  const members = Array.from(
    { length: random.whole(0, 6) },
    () => `"${random.pick([...names, ...more])}":${memberValue()}`,
  )
  return `{${members.join(',')}}`
}

function withOddities(random: Random, request: GeneratedRequest): GeneratedRequest {
  const headers = { ...request.headers }
  let { body } = request
  if (random.chance(0.15)) {
    const [name, value] = random.pick(oddHeaders)
    headers[name] = value
  }
  if (body !== undefined && random.chance(0.35)) {
    const coding = random.pick(['gzip', 'gzip', 'zstd', 'br', 'identity'])
    headers['content-encoding'] = coding
    if (coding === 'gzip') body = gzipSync(body, { level: 1 })
    if (coding === 'zstd') body = zstdCompressSync(body)
    if (random.chance(0.1)) body = body.subarray(0, random.whole(0, body.length))
  }
  return { ...request, headers, body }
}
