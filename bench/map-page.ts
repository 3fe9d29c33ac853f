import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { noChromium, openChromium } from '../test/browser/chromium.ts'
import { openReader } from '../test/browser/reader.ts'
import { type MapServer, serveMap } from './map-server.ts'
import type { Bench, Figure } from './report.ts'
import { firstPicture } from './slow-network.ts'
import { median, percentile } from './statistics.ts'

const built = join(import.meta.dirname, '../apps/fleet-map/dist')
const small = { devices: 200, cells: 100 }
const large = [
  { devices: 10_000, cells: 2_000 },
  { devices: 100_000, cells: 50_000 },
  { devices: 1_000_000, cells: 50_000 },
]

/** The page alone, with the tiles of a generated fleet. `fleet-gps` measures what the service needs for this data. */
export const mapPage: Bench = {
  name: 'map-page',
  about:
    'The fleet map page in headless Chromium of 1280 × 800 px, with software rendering (SwiftShader, no GPU) and a generated fleet over HTTP, of which a twelfth moves every five seconds. Ratios compare with the same page with 200 devices.',
  async run({ quick }) {
    const browser = await openChromium()
    if (!browser) return [{ name: noChromium, value: '–' }]
    try {
      const sizes = quick ? [small, { devices: 2_000, cells: 2_000 }] : [small, ...large]
      const [floor, ...others] = await measure(browser, sizes, quick ? 1 : 5)
      const slow = await firstPicture(browser, built, quick ? 1 : 5)
      return [
        ...(await weights()),
        ...slow,
        ...[floor, ...others].flatMap((size) => (size ? describe(size, floor) : [])),
      ]
    } finally {
      await browser.close()
    }
  },
}

type Size = { devices: number; cells: number }
type Measured = Size & {
  devicesMs: number
  coverageMs: number
  frameMs: number
  slowFrameMs: number
  heapBytes: number
  sentBytes: number
}

/** Rounds alternate between the sizes, so that a slower machine affects all of them. */
async function measure(browser: Browser, sizes: readonly Size[], rounds: number): Promise<Measured[]> {
  const servers: MapServer[] = []
  for (const size of sizes) servers.push(await serveMap(built, size))
  try {
    // The first page of a browser includes the start of the browser.
    if (servers[0]) await look(browser, servers[0])
    const seen = sizes.map((): Look[] => [])
    for (let round = 0; round < rounds; round++)
      for (const [index, server] of servers.entries()) seen[index]?.push(await look(browser, server))
    return sizes.map((size, index) => summarize(size, seen[index] ?? []))
  } finally {
    for (const server of servers) server.close()
  }
}

function summarize(size: Size, seen: readonly Look[]): Measured {
  const middle = (of: (one: Look) => number) => median(seen.map(of))
  return {
    ...size,
    devicesMs: middle((one) => one.devicesMs),
    coverageMs: middle((one) => one.coverageMs),
    frameMs: middle(({ frames }) => median(frames)),
    slowFrameMs: middle(({ frames }) => percentile(frames, 95)),
    heapBytes: middle((one) => one.heapBytes),
    sentBytes: middle((one) => one.sentBytes),
  }
}

type Look = Awaited<ReturnType<typeof look>>

/** Measures one reader with an empty cache: the first picture, panning, and the heap afterwards. */
async function look(browser: Browser, { url, sentBytes: sentBy }: MapServer) {
  const sentBefore = sentBy()
  const reader = await openReader(browser, `${url}/`, { key: 'flk_bench' })
  try {
    await reader.seesMap()
    const drawnAt = (part: string) =>
      reader.page.evaluate<number>(`performance.getEntriesByName('routerfleet:${part}-drawn')[0].startTime`)
    const [devicesMs, coverageMs] = [await drawnAt('devices'), await drawnAt('coverage')]
    const sentBytes = sentBy() - sentBefore
    const frames = await pan(reader.page)
    const heapBytes = await heapOf(reader.page)
    if (reader.problems.length > 0) throw new Error(reader.problems.join('\n'))
    return { devicesMs, coverageMs, frames, heapBytes, sentBytes }
  } finally {
    await reader.close()
  }
}

/** Drags the map back and forth. Returns the duration of each frame. */
async function pan(page: Page): Promise<number[]> {
  await page.evaluate(`(() => {
    window.frames_ = []
    let last = performance.now()
    const next = (now) => {
      window.frames_.push(now - last)
      last = now
      requestAnimationFrame(next)
    }
    requestAnimationFrame(next)
  })()`)
  await page.mouse.move(800, 400)
  await page.mouse.down()
  for (const x of [1_000, 600, 1_000, 600, 800]) await page.mouse.move(x, 400 + (x - 800) / 4, { steps: 25 })
  await page.mouse.up()
  return page.evaluate<number[]>('window.frames_')
}

async function heapOf(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('HeapProfiler.collectGarbage')
  await devtools.send('Performance.enable')
  const { metrics } = await devtools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN
}

function describe(size: Measured, floor: Measured | undefined): Figure[] {
  const of = `${size.devices.toLocaleString('en')} devices, ${size.cells.toLocaleString('en')} hexagons`
  const ratio = (value: number, against: number | undefined) =>
    against && size !== floor ? { ratio: (value / against).toFixed(1) } : {}
  return [
    {
      name: `${of}: devices on the screen`,
      value: `${Math.round(size.devicesMs)} ms`,
      ...(size === floor ? {} : { target: '< 2,000 ms' }),
      ...ratio(size.devicesMs, floor?.devicesMs),
    },
    {
      name: `${of}: hexagons too`,
      value: `${Math.round(size.coverageMs)} ms`,
      ...ratio(size.coverageMs, floor?.coverageMs),
    },
    {
      name: `${of}: responses up to then, beside the page itself`,
      value: `${Math.round(size.sentBytes / 1e3)} KB`,
      ...(size === floor ? {} : { target: '< 1,500 KB' }),
    },
    {
      name: `${of}: a frame while panning, p50 and p95`,
      value: `${Math.round(size.frameMs)} and ${Math.round(size.slowFrameMs)} ms`,
      ...ratio(size.frameMs, floor?.frameMs),
    },
    {
      name: `${of}: heap of the page's thread`,
      value: `${Math.round(size.heapBytes / 1e6)} MB`,
      ...ratio(size.heapBytes, floor?.heapBytes),
    },
  ]
}

/** Returns the sizes after `gzip -9`, without the API reference, which is a page of its own, and compressed copies. */
async function weights(): Promise<Figure[]> {
  const entries = await readdir(built, { recursive: true, withFileTypes: true })
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile() && !/^docs[-.]|\.(?:gz|br)$/.test(entry.name))
      .map(async ({ parentPath, name }) => ({
        name: name.replace(/-[\w-]{8}(?=\.\w+$)/, ''),
        bytes: gzipSync(await readFile(join(parentPath, name)), { level: 9 }).length,
      })),
  )
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`
  const scripts = files.filter(({ name }) => extname(name) === '.js').sort((a, b) => b.bytes - a.bytes)
  return [
    { name: 'the whole page, gzip', value: kilobytes(total), target: '< 600 KB' },
    ...scripts.map(({ name, bytes }) => ({ name: `of it ${name}`, value: kilobytes(bytes) })),
  ]
}
