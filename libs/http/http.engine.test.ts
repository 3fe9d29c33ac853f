import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { conflict, ServiceError } from '#core/errors'
import { version } from '#core/version'
import { decodeJson, readBody, requireMediaType } from './body.ts'
import { createBodyBudget } from './body-budget.ts'
import { chooseCoding, encodeChunks } from './compression.ts'
import { connectionLimit, countRefusedConnections } from './connection-limit.ts'
import { createCursors } from './cursor.ts'
import { matchesNone, requireMatch } from './etag.ts'
import { NotReadyError, readiness, sharedCheck } from './health.ts'
import { createHttpMetrics, mergeExpositions } from './metrics.ts'
import { problemResponse, toProblem } from './problem.ts'
import { createRateLimiter, rateLimitHeaders } from './rate-limit.ts'
import { requestIdFrom } from './request-id.ts'
import { answerToBroken, startServer } from './server.ts'

const codeOf = (work: () => unknown): string | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    return error instanceof ServiceError ? error.code : 'not a ServiceError'
  }
}

describe('problem documents', () => {
  test('carry the error’s code, members and headers', async () => {
    const response = problemResponse(conflict('serial_taken', 'Taken.', { serial: 'A' }), 'r-1')
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      detail: 'Taken.',
      code: 'serial_taken',
      requestId: 'r-1',
      serial: 'A',
    })
  })

  test('do not contain the message of an unexpected error', () => {
    const problem = toProblem(new Error('password=hunter2'), 'r-1')
    expect(problem).toMatchObject({ status: 500, code: 'internal_error' })
    expect(JSON.stringify(problem)).not.toContain('hunter2')
  })
})

test('closes and counts connections beyond the limit; serves the others', async () => {
  const server = await startServer(() => new Response('served'), { host: '127.0.0.1', port: 0, maxConnections: 2 })
  const registry = new Registry()
  countRefusedConnections(registry, server)
  const { port } = server.address()
  const open = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  await Promise.all(open.map((socket) => once(socket, 'connect')))
  await expect.poll(() => server.connections()).toBe(2)
  const refused = connect(port, '127.0.0.1')
  await once(refused, 'close')
  expect(await registry.metrics()).toContain('http_connections_refused_total 1')
  open[0]?.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  expect(String((await once(open[0] as Socket, 'data'))[0])).toContain('200 OK')
  for (const socket of open) socket.destroy()
  server.close()
})

describe('a head', () => {
  /** What a server that answers its own URL says to these bytes: status line, headers and body. */
  async function said(head: string): Promise<{ status: number; type: string | undefined; body: string }> {
    const server = await startServer((request) => new Response(request.url), { host: '127.0.0.1', port: 0 })
    const socket = connect(server.address().port, '127.0.0.1')
    socket.write(head)
    const text = (await socket.toArray()).map(String).join('')
    server.close()
    const [top = '', ...body] = text.split('\r\n\r\n')
    const type = /content-type: ([^\r]*)/i.exec(top)?.[1]
    return { status: Number(top.split(' ')[1]), type, body: body.join('') }
  }

  test.each([
    ['is not HTTP', 'nonsense\r\n\r\n'],
    ['is larger than 16 KiB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['has no Host in HTTP/1.1', 'GET / HTTP/1.1\r\n\r\n'],
    ['asks for no path', 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ])('that %s gets a 400 problem document', async (_what, head) => {
    const answer = await said(head)
    expect(answer).toMatchObject({ status: 400, type: 'application/problem+json' })
    expect(answer.body).toContain('"code":"malformed_request"')
  })

  test('that does not arrive in time gets a 408 problem document, and a connection without a request nothing', () => {
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    expect(answerToBroken(late, 0)).toBeUndefined()
    const [top = '', body = ''] = answerToBroken(late, 20)?.split('\r\n\r\n') ?? []
    expect(top).toContain('HTTP/1.1 408 Request Timeout\r\n')
    expect(JSON.parse(body)).toMatchObject({ status: 408, title: 'Request Timeout', code: 'request_timeout' })
  })

  test('of HTTP/1.0 may omit Host', async () => {
    expect(await said('GET /livez HTTP/1.0\r\n\r\n')).toMatchObject({ status: 200, body: 'http://localhost/livez' })
  })

  test('may contain an unknown expectation', async () => {
    const answer = await said('GET /livez HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\nConnection: close\r\n\r\n')
    expect(answer.status).toBe(200)
  })
})

test('the connection limit reserves descriptors for files', () => {
  const limit = connectionLimit()
  if (process.platform !== 'linux') return
  expect(limit).toBeGreaterThan(0)
  expect(connectionLimit(2)).toBeLessThanOrEqual((limit ?? 0) / 2)
})

test('a valid request id is used, an invalid one is replaced', () => {
  expect(requestIdFrom('trace-42')).toBe('trace-42')
  for (const header of [undefined, '', 'a b', 'x'.repeat(129), 'line\nbreak'])
    expect(requestIdFrom(header)).toHaveLength(36)
})

describe('cursors', () => {
  const cursors = createCursors(Buffer.alloc(32, 7))

  test('return the position they were created with', () => {
    expect(cursors.open(cursors.seal('2026|ü', ['a']), ['a'])).toBe('2026|ü')
  })

  test('are refused for another query, another key, and after a change of any character', () => {
    const cursor = cursors.seal('position', ['a'])
    expect(codeOf(() => cursors.open(cursor, ['b']))).toBe('invalid_cursor')
    expect(codeOf(() => createCursors(Buffer.alloc(32, 8)).open(cursor, ['a']))).toBe('invalid_cursor')
    for (let index = 0; index < cursor.length; index += 1) {
      const altered = cursor.slice(0, index) + (cursor[index] === 'A' ? 'B' : 'A') + cursor.slice(index + 1)
      expect(codeOf(() => cursors.open(altered, ['a']))).toBe('invalid_cursor')
    }
    expect(codeOf(() => cursors.open('', ['a']))).toBe('invalid_cursor')
  })
})

describe('entity tags', () => {
  test('If-None-Match uses weak comparison, also in lists', () => {
    expect(matchesNone('"a", W/"b"', '"b"')).toBe(true)
    expect(matchesNone('*', '"b"')).toBe(true)
    expect(matchesNone('"a"', '"b"')).toBe(false)
    expect(matchesNone(undefined, '"b"')).toBe(false)
  })

  test('If-Match uses strong comparison and is optional', () => {
    expect(codeOf(() => requireMatch(undefined, '"b"'))).toBeUndefined()
    expect(codeOf(() => requireMatch('"a", "b"', '"b"'))).toBeUndefined()
    expect(codeOf(() => requireMatch('W/"b"', '"b"'))).toBe('precondition_failed')
  })
})

describe('request bodies', () => {
  const request = (body: string, headers: Record<string, string> = {}) =>
    new Request('http://any/', { method: 'POST', body, headers })

  test('are counted as they arrive, regardless of Content-Length', async () => {
    const stream = () => new Blob(['x'.repeat(100)]).stream()
    const streamed = () => new Request('http://any/', { method: 'POST', body: stream(), duplex: 'half' } as RequestInit)
    expect((await readBody(streamed(), 100))?.length).toBe(100)
    await expect(readBody(streamed(), 99)).rejects.toMatchObject({ status: 413, code: 'body_too_large' })
    await expect(readBody(request('x', { 'content-length': '101' }), 100)).rejects.toMatchObject({ status: 413 })
    expect(await readBody(new Request('http://any/'), 100)).toBeUndefined()
  })

  test('are refused when they do not arrive in time', async () => {
    const never = new ReadableStream({ pull: () => new Promise(() => {}) })
    const slow = new Request('http://localhost/', { method: 'POST', body: never, duplex: 'half' } as RequestInit)
    await expect(readBody(slow, 100, { deadlineMs: 20 })).rejects.toMatchObject({ status: 400, code: 'body_too_slow' })
    expect(String(await readBody(request('{}'), 100, { deadlineMs: 60_000 }))).toBe('{}')
  })

  test('must have a media type and no content encoding', () => {
    const accepts = (headers: Record<string, string>) =>
      codeOf(() => requireMediaType(request('{}', headers), ['application/json']))
    expect(accepts({ 'content-type': 'application/json; charset=utf-8' })).toBeUndefined()
    expect(accepts({ 'content-type': 'text/plain' })).toBe('unsupported_media_type')
    expect(accepts({ 'content-type': 'application/json', 'content-encoding': 'gzip' })).toBe('unsupported_encoding')
  })

  test('that are not JSON or UTF-8 are refused without a quote', () => {
    expect(decodeJson(Buffer.from('{"a":1}'))).toEqual({ a: 1 })
    for (const bytes of [Buffer.from('{"secret'), Buffer.from([0x22, 0xff, 0x22])]) {
      expect(codeOf(() => decodeJson(bytes))).toBe('invalid_json')
    }
  })

  test('that exceed 100 levels of nesting are refused', () => {
    const nested = (levels: number) => Buffer.from(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`)
    expect(codeOf(() => decodeJson(nested(99)))).toBeUndefined()
    for (const levels of [100, 200_000]) expect(codeOf(() => decodeJson(nested(levels)))).toBe('invalid_json')
  })

  test('that hold more than 100,000 objects and arrays are refused, in strings they do not count', () => {
    const arrays = (count: number) => Buffer.from(`[${Array(count - 1).fill('[]')}]`)
    expect(codeOf(() => decodeJson(arrays(100_000)))).toBeUndefined()
    expect(codeOf(() => decodeJson(arrays(100_001)))).toBe('invalid_json')
    expect(codeOf(() => decodeJson(Buffer.from(JSON.stringify(Array(200_000).fill(1)))))).toBeUndefined()
    const brackets = '[{'.repeat(200)
    expect(decodeJson(Buffer.from(JSON.stringify([`\\"${brackets}`, brackets])))).toEqual([`\\"${brackets}`, brackets])
  })
})

describe('responses', () => {
  test.each([
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, br', 'br'],
    ['gzip;q=1.0, br;q=0', 'gzip'],
    ['*', 'br'],
    ['identity', undefined],
    [undefined, undefined],
  ])('Accept-Encoding %s selects %s', (header, coding) => {
    expect(chooseCoding(header)).toBe(coding)
  })

  test('are compressed only when they are long', async () => {
    const text = JSON.stringify(Array.from({ length: 500 }, (_, index) => ({ index })))
    for (const [coding, open] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const headers = new Headers()
      const encoded = await encodeChunks([Buffer.from(text)], coding, headers)
      expect(open(Buffer.concat(encoded)).toString()).toBe(text)
      expect(headers.get('content-encoding')).toBe(coding)
      const halves = [Buffer.from(text.slice(0, 2_000)), Buffer.from(text.slice(2_000))]
      expect(open(Buffer.concat(await encodeChunks(halves, coding, new Headers()))).toString()).toBe(text)
    }
    const headers = new Headers()
    const short = [Buffer.from('{}')]
    expect(await encodeChunks(short, 'br', headers)).toBe(short)
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, 'accept-encoding'])
  })
})

test('the metrics of every app name its version', async () => {
  expect(await createHttpMetrics().registry.metrics()).toContain(`routerfleet_build_info{version="${version}"} 1`)
})

test('merges metrics of several apps and labels only shared families', () => {
  const own = '# HELP up Is up.\n# TYPE up gauge\nup 1\n# TYPE requests counter\nrequests{route="/a"} 2\n'
  const merged = mergeExpositions([
    { app: 'one', text: own },
    { app: 'two', text: '# HELP up Is up.\n# TYPE up gauge\nup 0\n# TYPE samples counter\nsamples 5\n' },
  ])
  expect(merged).toBe(
    '# HELP up Is up.\n# TYPE up gauge\nup{app="one"} 1\nup{app="two"} 0\n# TYPE requests counter\nrequests{route="/a"} 2\n# TYPE samples counter\nsamples 5\n',
  )
})

test('merges metrics of several copies of an app with a label for each', () => {
  const merged = mergeExpositions([
    { app: 'one', text: '# TYPE up gauge\nup 1\n' },
    { app: 'two', copy: 'a:1', text: '# TYPE up gauge\nup 1\n# TYPE samples counter\nsamples{kind="gps"} 5\n' },
    { app: 'two', copy: 'b:2', text: '# TYPE up gauge\nup 0\n# TYPE samples counter\nsamples{kind="gps"} 7\n' },
  ])
  expect(merged).toBe(
    '# TYPE up gauge\nup{app="one"} 1\nup{app="two",copy="a:1"} 1\nup{app="two",copy="b:2"} 0\n# TYPE samples counter\nsamples{kind="gps",copy="a:1"} 5\nsamples{kind="gps",copy="b:2"} 7\n',
  )
})

test('a rate limit applies per key, returns the remaining quota, and refuses with Retry-After', async () => {
  const limiter = createRateLimiter('test')
  const first = await limiter.consume('a', 2)
  expect(rateLimitHeaders(first)).toEqual({
    'RateLimit-Policy': '"minute";q=2;w=60',
    RateLimit: expect.stringMatching(/^"minute";r=1;t=\d+$/),
  })
  await limiter.consume('a', 2)
  await expect(limiter.consume('a', 2)).rejects.toMatchObject({
    status: 429,
    headers: { 'Retry-After': expect.stringMatching(/^\d+$/) },
  })
  await limiter.consume('b', 2)
})

describe('a body budget', () => {
  const statusOf = (action: () => unknown): unknown => {
    try {
      action()
    } catch (error) {
      return error instanceof ServiceError ? [error.status, error.headers?.['Retry-After']] : error
    }
    return 'taken'
  }

  test('refuses with 429 beyond a holder’s limit and with 503 beyond the total, until bodies are closed', () => {
    const budget = createBodyBudget({ bytes: 100, bytesPerHolder: 60 })
    const [first, second, third] = [budget.open('a'), budget.open('a'), budget.open('b')]
    expect(statusOf(() => first.take(50))).toBe('taken')
    expect(statusOf(() => second.take(11))).toEqual([429, '2'])
    expect(statusOf(() => third.take(50))).toBe('taken')
    expect(statusOf(() => second.take(1))).toEqual([503, '2'])
    expect(budget.held()).toEqual({ bytes: 100, arrivingBodies: 3 })
    first.close()
    first.close()
    expect(statusOf(() => second.take(11))).toBe('taken')
    for (const account of [second, third]) account.close()
    expect(budget.held()).toEqual({ bytes: 0, arrivingBodies: 0 })
  })

  test('counts bodies until they have arrived', () => {
    const budget = createBodyBudget({ bytes: 100, bytesPerHolder: 100, bodies: 3, bodiesPerHolder: 2 })
    const [first] = [budget.open('a'), budget.open('a'), budget.open('b')]
    expect(statusOf(() => budget.open('a'))).toEqual([429, '2'])
    expect(statusOf(() => budget.open('c'))).toEqual([503, '2'])
    first?.arrived()
    expect(statusOf(() => budget.open('c'))).toBe('taken')
    first?.close()
    expect(budget.held().arrivingBodies).toBe(3)
  })
})

test('a shared check runs at most once a second, also for concurrent callers, and detects recovery', async () => {
  let runs = 0
  let isUp = true
  let nowMs = 10_000
  const check = sharedCheck(
    {
      name: 'database',
      check: async () => {
        runs += 1
        if (!isUp) throw new NotReadyError('It starts.')
      },
    },
    () => nowMs,
  )
  const states = await Promise.all(Array.from({ length: 50 }, () => readiness([check])))
  expect(states.every(({ ready }) => ready)).toBe(true)
  expect(runs).toBe(1)
  isUp = false
  nowMs += 999
  expect((await readiness([check])).ready).toBe(true)
  nowMs += 1
  expect(await readiness([check])).toEqual({
    ready: false,
    checks: { database: 'failed' },
    reasons: { database: 'It starts.' },
  })
  isUp = true
  nowMs += 1_000
  expect((await readiness([check])).ready).toBe(true)
  expect(runs).toBe(3)
})
