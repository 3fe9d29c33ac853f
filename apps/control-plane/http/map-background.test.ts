import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { pmtilesWorld } from '#test/pmtiles'
import { effectiveSettings, mapEnvironment, mapVariables, openMapBackground } from './map-background.ts'
import { openPage, type WebPage } from './page.ts'

const index =
  '<!doctype html><meta name="router-model-segment" content="router"><meta name="map-background" content="{}">'
const world = pmtilesWorld('Test data')

let folder: string
let pmtiles: string
let builtWorld: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-background-'))
  pmtiles = join(folder, 'world.pmtiles')
  builtWorld = join(folder, 'built-world.pmtiles')
  await writeFile(join(folder, 'index.html'), index)
  await writeFile(pmtiles, world)
  await writeFile(join(folder, 'other.pmtiles'), 'PMTiles\x02 of an earlier version')
})
afterAll(() => rm(folder, { recursive: true }))

const offline = { background: { kind: 'offline' as const }, satellite: null, origins: [] }

const open = async (variables: Record<string, string>) => {
  const environment = await mapEnvironment(parseConfig(z.object(mapVariables), variables))
  return openMapBackground(effectiveSettings(environment, offline), builtWorld)
}

async function pageWith(environment: Record<string, string>): Promise<WebPage> {
  const background = await open(environment)
  const page = await openPage(folder, 'router', async () => background)
  if (!page) throw new Error('The page did not open.')
  return page
}

async function ask(
  page: WebPage,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Response> {
  const response = await page(new Request(`http://127.0.0.1${path}`, { headers, method }))
  if (!response) throw new Error(`The page does not serve ${path}.`)
  return response
}

/** Returns the settings that the page reads, and the sources of its Content-Security-Policy. */
async function documentOf(environment: Record<string, string>) {
  const response = await ask(await pageWith(environment), '/')
  const [, written = ''] = /name="map-background" content="([^"]*)"/.exec(await response.text()) ?? []
  const policy = response.headers.get('content-security-policy') ?? ''
  const sources = (directive: string) => new RegExp(`${directive} ([^;]*)`).exec(policy)?.[1]
  const settings = JSON.parse(written.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>'))
  return { settings, connect: sources('connect-src'), img: sources('img-src'), policy }
}

describe('the page', () => {
  test('has no background and no other origin by default', async () => {
    const { settings, policy } = await documentOf({})
    expect(settings).toEqual({})
    expect(policy).not.toMatch(/https?:/)
  })

  test('may load from the origins of the styles, of the satellite images, and of MAP_ORIGINS only', async () => {
    const { settings, connect, img, policy } = await documentOf({
      MAP_STYLE_URL: 'https://maps.example.com/styles/light.json?key=1',
      MAP_STYLE_DARK_URL: 'https://maps.example.com/styles/dark.json',
      MAP_ORIGINS: 'https://tiles.example.com, https://*.fonts.example.com:8443',
      MAP_SATELLITE_URL: 'https://images.example.com/{z}/{y}/{x}.jpg',
      MAP_SATELLITE_ATTRIBUTION: '<a href="https://images.example.com">Images</a>',
      MAP_SATELLITE_MAX_ZOOM: '17',
    })
    const origins =
      'https://maps.example.com https://images.example.com https://tiles.example.com https://*.fonts.example.com:8443'
    expect(connect).toBe(`'self' ${origins}`)
    expect(img).toBe(`'self' data: blob: ${origins}`)
    expect(policy).toContain("script-src 'self';")
    expect(settings).toEqual({
      style: 'https://maps.example.com/styles/light.json?key=1',
      darkStyle: 'https://maps.example.com/styles/dark.json',
      satellite: {
        tiles: 'https://images.example.com/{z}/{y}/{x}.jpg',
        attribution: '<a href="https://images.example.com">Images</a>',
        maxZoom: 17,
      },
    })
  })

  test('reads a PMTiles file from its own origin', async () => {
    const { settings, connect } = await documentOf({ MAP_PMTILES_FILE: pmtiles })
    expect(settings).toEqual({ pmtiles: './map/background.pmtiles' })
    expect(connect).toBe("'self'")
  })
})

test.for([
  [{ MAP_STYLE_URL: 'ftp://example.com/style.json' }, 'MAP_STYLE_URL: must be an http or https address'],
  [{ MAP_STYLE_DARK_URL: 'https://example.com/dark.json' }, 'MAP_STYLE_DARK_URL: needs MAP_STYLE_URL'],
  [{ MAP_SATELLITE_URL: 'https://example.com/{z}/{x}.jpg' }, 'MAP_SATELLITE_URL: must contain {z}, {x} and {y}'],
  [{ MAP_ORIGINS: "https://example.com; script-src 'unsafe-eval'" }, 'must be origins'],
  [{ MAP_ORIGINS: 'https://example.com/styles' }, 'must be origins'],
  [{ MAP_PMTILES_FILE: '/missing.pmtiles' }, 'MAP_PMTILES_FILE: ENOENT'],
] as const)('refuses %j', async ([environment, sentence]) => {
  await expect(async () => open(environment as Record<string, string>)).rejects.toThrow(sentence)
})

test('refuses a file of another format, and a file together with a style', async () => {
  const of = (name: string) => open({ MAP_PMTILES_FILE: join(folder, name) })
  await expect(of('index.html')).rejects.toThrow('is not a PMTiles file')
  await expect(of('other.pmtiles')).rejects.toThrow('is not a PMTiles file of version 3')
  const both = { MAP_PMTILES_FILE: pmtiles, MAP_STYLE_URL: 'https://example.com/style.json' }
  await expect(open(both)).rejects.toThrow('MAP_STYLE_URL: cannot be combined with MAP_PMTILES_FILE')
})

describe('/map/background.pmtiles', () => {
  const path = '/map/background.pmtiles'
  const size = world.length
  let page: WebPage
  beforeAll(async () => {
    page = await pageWith({ MAP_PMTILES_FILE: pmtiles })
  })

  test.for([
    ['bytes=0-6', 0, 6],
    ['bytes=7-7', 7, 7],
    ['bytes=100-', 100, size - 1],
    ['bytes=-20', size - 20, size - 1],
    [`bytes=120-${10 * size}`, 120, size - 1],
    [`bytes=-${10 * size}`, 0, size - 1],
  ] as const)('%s is 206 with these bytes', async ([range, start, end]) => {
    const response = await ask(page, path, { range })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end}/${size}`)
    expect(response.headers.get('content-length')).toBe(String(end - start + 1))
    expect(Buffer.from(await response.arrayBuffer())).toEqual(world.subarray(start, end + 1))
  })

  test.for([`bytes=${size}-`, 'bytes=-0'])('%s is 416', async (range) => {
    const response = await ask(page, path, { range })
    expect([response.status, response.headers.get('content-range')]).toEqual([416, `bytes */${size}`])
  })

  test.for([undefined, 'bytes=9-3', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-'])('%s is the whole file', async (range) => {
    const response = await ask(page, path, range ? { range } : {})
    expect([response.status, response.headers.get('accept-ranges')]).toEqual([200, 'bytes'])
    expect(Buffer.from(await response.arrayBuffer())).toEqual(world)
  })

  test('HEAD has the headers alone', async () => {
    const response = await ask(page, path, {}, 'HEAD')
    expect([response.status, response.headers.get('content-length'), response.body]).toEqual([200, String(size), null])
  })

  test('has a strong entity tag that changes with the file, for If-None-Match and If-Range', async () => {
    const tag = (await ask(page, path, {}, 'HEAD')).headers.get('etag') ?? ''
    expect(tag).toMatch(/^"[\w-]+"$/)
    expect((await ask(page, path, { 'if-none-match': tag })).status).toBe(304)
    expect((await ask(page, path, { range: 'bytes=0-1', 'if-range': tag }, 'HEAD')).status).toBe(206)
    await utimes(pmtiles, 1_000, 1_000)
    expect((await ask(page, path, { 'if-none-match': tag }, 'HEAD')).status).toBe(200)
    expect((await ask(page, path, { range: 'bytes=0-1', 'if-range': tag }, 'HEAD')).status).toBe(200)
  })

  test('is 404 while the file is missing, and never another file', async () => {
    const moved = join(folder, 'moved.pmtiles')
    await writeFile(moved, world)
    const other = await pageWith({ MAP_PMTILES_FILE: moved })
    await rm(moved)
    expect((await ask(other, path)).status).toBe(404)
    for (const wrong of ['/map/other.pmtiles', '/map/..%2findex.html', '/map/background.pmtiles/..', '/map'])
      expect(page(new Request(`http://127.0.0.1${wrong}`))).toBeUndefined()
  })

  test('does not exist without the setting', async () => {
    expect((await ask(await pageWith({}), path)).status).toBe(404)
  })
})

describe('/map/world.pmtiles', () => {
  const path = '/map/world.pmtiles'
  const settingsOf = async (response: Response) =>
    /name="map-background" content="([^"]*)"/.exec(await response.text())?.[1]

  test('is offered to the page as soon as it is built', async () => {
    const page = await pageWith({})
    const before = await ask(page, '/')
    expect(await settingsOf(before)).toBe('{}')
    expect((await ask(page, path)).status).toBe(404)

    await writeFile(builtWorld, world)
    const tag = before.headers.get('etag') ?? ''
    const after = await ask(page, '/', { 'if-none-match': tag })
    expect(after.status).toBe(200)
    expect(after.headers.get('etag')).not.toBe(tag)
    expect(await settingsOf(after)).toBe('{&quot;world&quot;:&quot;./map/world.pmtiles&quot;}')
    expect((await ask(page, '/', { 'if-none-match': after.headers.get('etag') ?? '' })).status).toBe(304)

    const part = await ask(page, path, { range: 'bytes=0-6' })
    expect([part.status, await part.text()]).toEqual([206, 'PMTiles'])
    const whole = await ask(page, path)
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'application/vnd.pmtiles'])
    expect((await ask(page, path, { 'if-none-match': whole.headers.get('etag') ?? '' })).status).toBe(304)
  })

  test('stays in place of another background that cannot be loaded', async () => {
    await writeFile(builtWorld, world)
    const { settings, connect } = await documentOf({ MAP_STYLE_URL: 'https://maps.example.com/style.json' })
    expect(settings).toEqual({ style: 'https://maps.example.com/style.json', world: './map/world.pmtiles' })
    expect(connect).toBe("'self' https://maps.example.com")
    await rm(builtWorld)
    expect((await documentOf({})).settings).toEqual({})
  })
})
