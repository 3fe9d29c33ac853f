import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { encodeLines } from '../../apps/fleet-map/src/route/polyline.ts'
import { noChromium, openChromium } from './chromium.ts'
import { connect, movingVehicles, type Product } from './product.ts'
import { openReader } from './reader.ts'

// Usage: node test/browser/screenshots.ts [--access FILE] [--to FOLDER] [--width PIXELS …] [VIEW …]
// Takes screenshots of a running product in both themes. By default: the product of `npm start` in this folder, all views, 390
// and 1280 pixels wide, to docs/screenshots.

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    access: { type: 'string', default: '.data/access.json' },
    to: { type: 'string', default: join(import.meta.dirname, '../../docs/screenshots') },
    width: { type: 'string', multiple: true, default: ['390', '1280'] },
  },
})
const heights: Record<string, number> = { 390: 844, 1280: 800, 2560: 1440 }
const screens = options.width.map((width) => ({ width: Number(width), height: heights[width] ?? 1_000 }))
const themes = ['dark', 'light'] as const
const maxBytes = 150_000

/** `withMap`: whether the view is the map, or has one beside other parts. `by`: whose key signs in, the demo operator's by default. */
type View = { name: string; place: string; sight: string; withMap?: true | 'part'; by?: 'nobody' | 'administrator' }

const settings = [
  'organization',
  'people',
  'api-keys',
  'enrollment-keys',
  'webhooks',
  'audit',
  'sessions',
  'organizations',
  'map',
]

async function viewsOf(product: Omit<Product, 'close'>): Promise<View[]> {
  const [truck] = await movingVehicles(product)
  const { lon, lat } = truck?.location ?? {}
  const within = (what: string) =>
    product.call<{ items: { id: string; name?: string; version?: number }[] }>(
      'GET',
      `/orgs/${product.organizationId}/${what}`,
    )
  const [groups, batches, places, rules, profiles] = await Promise.all(
    ['groups', 'job-batches', 'places', 'alert-rules', 'configs'].map(within),
  )
  const group = groups?.items.find(({ name }) => name === 'Ships') ?? groups?.items[0]
  const [batch] = batches?.items ?? []
  const profile = profiles?.items.toSorted((a, b) => (b.version ?? 0) - (a.version ?? 0))[0]
  return [
    { name: 'sign-in', place: '', sight: 'main h1', by: 'nobody' },
    { name: 'map', place: '#/map', sight: '[aria-label=Filters] strong', withMap: true },
    {
      name: 'device',
      place: `#/map?device=${truck?.deviceId}&lon=${lon}&lat=${lat}&z=10`,
      sight: '.device-panel .u-legend',
      withMap: true,
    },
    { name: 'dead-zones', place: '#/map?panel=dead-zones', sight: '.ranking li', withMap: true },
    {
      name: 'route',
      place: `#/map?panel=route&route=${encodeURIComponent(await wayOf(product, truck?.deviceId ?? ''))}`,
      sight: '[aria-label="Route forecast"] .facts',
      withMap: true,
    },
    { name: 'fleet-table', place: '#/map?as=table', sight: 'tbody tr' },
    { name: 'overview', place: '#/overview', sight: '.page .u-legend' },
    { name: 'devices', place: '#/devices', sight: 'tbody tr' },
    { name: 'device-page', place: `#/device?id=${truck?.deviceId}`, sight: '[aria-label=Events] li', withMap: 'part' },
    { name: 'alerts', place: '#/alerts', sight: 'tbody tr, .state' },
    { name: 'alert-rules', place: '#/alerts?tab=rules', sight: 'tbody tr, .state' },
    ...(rules?.items[0]
      ? [{ name: 'alert-rule', place: `#/alerts?tab=rules&rule=${rules.items[0].id}`, sight: 'dialog [name=emails]' }]
      : []),
    ...(places?.items[0]
      ? [
          {
            name: 'place',
            place: `#/alerts?tab=places&place=${places.items[0].id}`,
            sight: 'canvas[role=region]',
            withMap: 'part',
          } as const,
        ]
      : []),
    { name: 'groups', place: '#/groups', sight: 'tbody tr' },
    { name: 'group', place: `#/groups?group=${group?.id}`, sight: 'tbody tr' },
    { name: 'profiles', place: '#/profiles', sight: 'tbody tr' },
    { name: 'profile', place: `#/profiles?profile=${profile?.id}`, sight: '[aria-label=Devices]' },
    { name: 'jobs', place: '#/jobs', sight: 'tbody tr, .state' },
    ...(batch ? [{ name: 'batch', place: `#/jobs?batch=${batch.id}`, sight: 'tbody tr' }] : []),
    { name: 'new-job', place: '#/jobs?new=firmware_update', sight: 'form[aria-label="New job"] footer' },
    { name: 'firmware', place: '#/jobs?show=firmware', sight: 'tbody tr, .state' },
    { name: 'connect', place: `#/connect?org=${product.organizationId}`, sight: 'main form', by: 'administrator' },
    ...settings.map((section): View => {
      const place = `#/settings?section=${section}&org=${product.organizationId}`
      return {
        name: `settings-${section}`,
        place,
        sight: 'tbody tr, .state, progress, form',
        by: 'administrator',
      }
    }),
  ]
}

/** Returns the path of a device in the last two hours as an encoded polyline. */
async function wayOf(product: Omit<Product, 'close'>, deviceId: string): Promise<string> {
  const path = `/api/router/${deviceId}/telemetry/history?kind=location&sinceMinutes=120&limit=2000`
  const { items } = await product.call<{ items: { lat: number | null; lon: number | null }[] }>('GET', path)
  const fixes = items.reverse().flatMap(({ lat, lon }) => (lat === null || lon === null ? [] : [[lon, lat] as const]))
  return encodeLines([fixes.filter((_, index) => index % 5 === 0)])
}

/** Resolves when two pictures of the map in a view are the same, a second apart. */
async function partRests(page: Page): Promise<void> {
  const map = page.getByRole('region', { name: /^Map,/ })
  await page.getByText('GeoNames (CC BY 4.0)').waitFor()
  let before: Buffer | undefined
  for (let looks = 0; looks < 10; looks++) {
    const now = await map.screenshot()
    if (before?.equals(now)) return
    before = now
    await page.waitForTimeout(1_000)
  }
}

async function picture(
  browser: Browser,
  product: Omit<Product, 'close'>,
  { place, sight, withMap, by }: View,
  viewport: { width: number; height: number },
  colorScheme: 'dark' | 'light',
): Promise<Buffer> {
  const key = by === 'nobody' ? undefined : by === 'administrator' ? product.adminKey : product.demoKey
  const reader = await openReader(browser, `${product.url}/${place}`, { key, viewport, colorScheme })
  try {
    if (withMap === true) await reader.seesMap()
    await reader.page.locator(sight).first().waitFor()
    if (withMap === true) await reader.mapRests()
    if (withMap === 'part') await partRests(reader.page)
    const devtools = await reader.page.context().newCDPSession(reader.page)
    for (const quality of [82, 65, 45]) {
      const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality })
      const bytes = Buffer.from(data, 'base64')
      if (bytes.length < maxBytes) return bytes
    }
    throw new Error(`The screenshot of ${place} is larger than ${maxBytes} bytes.`)
  } finally {
    await reader.close()
  }
}

const product = connect(JSON.parse(await readFile(options.access, 'utf8')))
const browser = await openChromium()
if (!browser) throw new Error(noChromium)
await mkdir(options.to, { recursive: true })
const views = await viewsOf(product)
for (const view of views.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
  for (const screen of screens)
    for (const theme of themes) {
      const file = `${view.name}-${screen.width}-${theme}.webp`
      await writeFile(join(options.to, file), await picture(browser, product, view, screen, theme))
      console.log(file)
    }
await browser.close()
