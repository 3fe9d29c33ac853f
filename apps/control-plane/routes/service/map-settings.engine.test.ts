import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { pmtilesWorld } from '#test/pmtiles'
import { until } from '#test/until'
import { createMapBackgrounds } from '../../http/map-backgrounds.ts'
import { openPage } from '../../http/page.ts'

let api: TestControlPlane
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-map-settings-'))
  await writeFile(join(folder, 'index.html'), '<!doctype html><meta name="map-background" content="{}">')
  await writeFile(join(folder, 'streets.pmtiles'), pmtilesWorld('Test data'))
  api = await startControlPlane()
})
afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true })
})

const offline = { background: { kind: 'offline' }, satellite: null, origins: [] }
const streets = {
  background: { kind: 'style', styleUrl: 'https://tiles.example.com/light', darkStyleUrl: 'https://dark.example.com/' },
  satellite: { tilesUrl: 'https://images.example.com/{z}/{x}/{y}.jpg', attribution: 'Images', maxZoom: 18 },
  origins: ['https://fonts.example.com'],
}

const read = () => api.call('GET', '/map-settings', { token: api.platformKey })
const set = (json: unknown, token = api.platformKey) => api.call('PUT', '/map-settings', { token, json })

/** What the page of this control plane may load, and what it draws below the fleet. */
async function pageOf({ services }: TestControlPlane) {
  const page = await openPage(folder, 'router', services.mapBackgrounds.current)
  const ask = async (path: string) => (await page?.(new Request(`http://127.0.0.1${path}`))) ?? new Response()
  const document = await ask('/')
  const [, written = ''] = /content="([^"]*)"/.exec(await document.text()) ?? []
  const { world: _, ...settings } = JSON.parse(written.replaceAll('&quot;', '"'))
  return { settings, policy: document.headers.get('content-security-policy') ?? '', ask }
}

describe('/map-settings', () => {
  test('200 the map of the world without settings', async () => {
    expect(await read()).toMatchObject({
      status: 200,
      body: { stored: offline, effective: offline, environment: [] },
    })
  })

  test('200 stores a background, which the next page shows', async () => {
    const before = await pageOf(api)
    expect(before.settings).toEqual({})
    expect(before.policy).not.toContain('https://')
    const answer = await set(streets)
    expect(answer).toMatchObject({ status: 200, body: { stored: streets, effective: streets } })
    expect((await read()).body).toEqual(answer.body)
    const { settings, policy } = await pageOf(api)
    expect(settings).toEqual({
      style: 'https://tiles.example.com/light',
      darkStyle: 'https://dark.example.com/',
      satellite: { tiles: streets.satellite.tilesUrl, attribution: 'Images', maxZoom: 18 },
    })
    const origins =
      'https://tiles.example.com https://dark.example.com https://images.example.com https://fonts.example.com'
    expect(policy).toContain(`connect-src 'self' ${origins};`)

    await set(offline)
    expect((await pageOf(api)).settings.style).toBeUndefined()
    expect((await pageOf(api)).policy).not.toContain('https://')
  })

  test('200 serves a PMTiles file of the server until another background is chosen', async () => {
    const file = join(folder, 'streets.pmtiles')
    expect((await set({ background: { kind: 'pmtiles', file } })).status).toBe(200)
    expect((await pageOf(api)).settings.pmtiles).toBeDefined()
    const { ask } = await pageOf(api)
    expect((await ask('/map/background.pmtiles')).status).toBe(200)
    await set(offline)
    expect((await pageOf(api)).settings.pmtiles).toBeUndefined()
    expect((await ask('/map/background.pmtiles')).status).toBe(404)
  })

  test('a process that starts without the stored file logs it, and shows the map of the world', async () => {
    const file = join(folder, 'gone.pmtiles')
    await writeFile(file, pmtilesWorld('Test data'))
    expect((await set({ ...streets, background: { kind: 'pmtiles', file } })).status).toBe(200)
    await rm(file)
    const logged: unknown[] = []
    const { current } = createMapBackgrounds({
      environment: { origins: [], variables: [] },
      db: api.services.pool,
      clock: Date.now,
      logger: { warn: (...parts: unknown[]) => void logged.push(parts.at(-1)) },
    })
    const { settings, file: opened } = await current()
    expect([settings.pmtiles, opened, logged]).toEqual([undefined, undefined, ['map_background_unusable']])
    expect(settings.satellite).toMatchObject({ attribution: 'Images' })
    await set(offline)
  })

  test('the audit log of the platform names who changed it', async () => {
    await set(streets)
    const { body } = await api.call('GET', '/audit?action=map_settings.changed&limit=1', { token: api.platformKey })
    expect(body.items).toMatchObject([{ subjectId: 'map', detail: { background: 'style', satellite: true } }])
    await set(offline)
  })

  test.each([
    [{ background: { kind: 'style', styleUrl: 'ftp://tiles.example.com' } }, '/background/styleUrl'],
    [{ background: { kind: 'style' } }, '/background/styleUrl'],
    [{ background: { kind: 'streets' } }, '/background/kind'],
    [{ background: { kind: 'pmtiles', file: '/etc/passwd' } }, '/background/file'],
    [{ background: { kind: 'pmtiles', file: '/missing.pmtiles' } }, '/background/file'],
    [{ ...offline, satellite: { tilesUrl: 'https://images.example.com/{z}' } }, '/satellite/tilesUrl'],
    [{ ...offline, origins: ["https://a.example.com; script-src 'unsafe-eval'"] }, '/origins/0'],
    [{}, '/background'],
  ])('400 for %j', async (json, pointer) => {
    expect(await set(json)).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
    expect((await read()).body.stored).toEqual(offline)
  })

  test('401 and 403 for others than platform administrators', async () => {
    const { key } = await api.newOrganization()
    expect((await set(offline, key)).status).toBe(403)
    expect((await api.call('GET', '/map-settings', { token: key })).status).toBe(403)
    expect((await api.call('GET', '/map-settings')).status).toBe(401)
  })

  test('the environment wins, part by part', async () => {
    const configured = await startControlPlane({ MAP_STYLE_URL: 'https://own.example.com/style.json' })
    try {
      const token = configured.platformKey
      const answer = await configured.call('PUT', '/map-settings', { token, json: streets })
      expect(answer.body).toMatchObject({
        stored: streets,
        effective: {
          ...streets,
          background: { kind: 'style', styleUrl: 'https://own.example.com/style.json' },
        },
        environment: ['MAP_STYLE_URL'],
      })
      await until('the page has the images', async () => (await pageOf(configured)).settings.satellite)
      expect((await pageOf(configured)).settings.style).toBe('https://own.example.com/style.json')
    } finally {
      await configured.close()
    }
  })
})
