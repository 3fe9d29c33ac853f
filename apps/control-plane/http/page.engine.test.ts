import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPage, type WebPage } from './page.ts'

const index = '<!doctype html><meta name="router-model-segment" content="router"><p>map</p>'
const script = `console.log(${JSON.stringify('route '.repeat(200))})`
const immutable = 'public, max-age=31536000, immutable'

let folder: string
let page: WebPage

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-page-'))
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), index)
  await writeFile(join(folder, 'docs.html'), '<p>reference</p>')
  await writeFile(join(folder, 'assets/index-Abc123.js'), script)
  await writeFile(join(folder, 'assets/index-Abc123.js.br'), brotliCompressSync(script))
  await writeFile(join(folder, 'assets/index-Abc123.js.gz'), gzipSync(script))
  const opened = await openPage(folder, 'rx500')
  if (!opened) throw new Error('The page did not open.')
  page = opened
})
afterAll(() => rm(folder, { recursive: true }))

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  page(new Request(`http://127.0.0.1${path}`, { headers, method }))

async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  const response = await ask(path, headers, method)
  if (!response) throw new Error(`The page does not serve ${path}.`)
  return response
}

describe('documents', () => {
  test('/ is the map, with the router model segment and without caching', async () => {
    const response = await get('/')
    expect(response.headers.get('content-type')).toMatch(/^text\/html; charset=utf-8$/i)
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(await response.text()).toContain('content="rx500"')
  })

  test('/docs is the API reference', async () => {
    const response = await get('/docs')
    expect([response.status, await response.text()]).toEqual([200, '<p>reference</p>'])
    expect(response.headers.get('cache-control')).toBe('no-cache')
  })

  test('/docs/ redirects to /docs, also behind a path prefix', async () => {
    const { status, headers } = await get('/docs/')
    expect(status).toBe(308)
    expect(new URL(headers.get('location') ?? '', 'https://example.org/tools/docs/').pathname).toBe('/tools/docs')
  })
})

describe('assets', () => {
  const path = '/assets/index-Abc123.js'

  test.for([
    ['br', 'gzip, deflate, br, zstd'],
    ['gzip', 'gzip'],
    [null, 'identity'],
    [null, ''],
  ] as const)('are sent as %s to a browser that accepts %j', async ([encoding, accepted]) => {
    const response = await get(path, accepted === '' ? {} : { 'accept-encoding': accepted })
    const body = Buffer.from(await response.arrayBuffer())
    const expected = { br: brotliCompressSync(script), gzip: gzipSync(script) }
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(response.headers.get('content-type')).toMatch(/^text\/javascript/)
    expect(response.headers.get('content-length')).toBe(String(body.length))
    expect(response.headers.get('vary')).toBe('Accept-Encoding')
    expect(body).toEqual(encoding ? expected[encoding] : Buffer.from(script))
    if (encoding === 'br') expect(brotliDecompressSync(body).toString()).toBe(script)
  })

  test('are cached for a year', async () => {
    expect((await get(path)).headers.get('cache-control')).toBe(immutable)
  })
})

describe.for(['/', '/docs', '/assets/index-Abc123.js'])('%s', (path) => {
  test('returns 304 with the same caching headers if the browser has it', async () => {
    const first = await get(path)
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/)
    const second = await get(path, { 'if-none-match': etag })
    expect([second.status, await second.text()]).toEqual([304, ''])
    for (const name of ['etag', 'cache-control', 'vary', 'content-security-policy'])
      expect([name, second.headers.get(name)]).toEqual([name, first.headers.get(name)])
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('returns the headers of GET and no body for HEAD', async () => {
    const [head, full] = [await get(path, {}, 'HEAD'), await get(path)]
    expect([head.status, await head.text()]).toEqual([200, ''])
    for (const name of ['etag', 'cache-control', 'vary', 'content-type'])
      expect([name, head.headers.get(name)]).toEqual([name, full.headers.get(name)])
    await full.text()
  })

  test('forbids other origins, frames and inline scripts', async () => {
    const { headers } = await get(path, {}, 'HEAD')
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe-eval')
    expect(policy).not.toMatch(/https?:/)
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
  })
})

describe('leaves to the API', () => {
  test.for([
    '/devices',
    '/index.html',
    '/docs.html',
    '/assets/index-Abc123.js.br',
    '/assets/../index.html.br',
    '/assets/%2e%2e/%2e%2e/etc/passwd',
    '/assets',
  ])('%s', (path) => {
    expect(ask(path)).toBeUndefined()
  })

  test('other methods than GET and HEAD', () => {
    expect(ask('/', {}, 'POST')).toBeUndefined()
  })

  test('all paths, if the folder has no page', async () => {
    expect(await openPage(join(folder, 'assets'), 'router')).toBeUndefined()
    expect(await openPage(join(folder, 'missing'), 'router')).toBeUndefined()
  })
})
