import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { noChromium, openChromium } from '../test/browser/chromium.ts'
import { openReader } from '../test/browser/reader.ts'
import { serveMap } from './map-server.ts'
import type { MillionFleet } from './million-fleet.ts'
import type { Figure } from './report.ts'
import type { ServedApi } from './served-api.ts'
import { median, percentile } from './statistics.ts'

const built = join(import.meta.dirname, '../apps/fleet-map/dist/index.html')
const drawnWithinMs = 60_000

/** Chromium, if it is installed and the page is built. */
export async function openPageBrowser() {
  if (!existsSync(built)) return { missing: 'not built. Build it with npm start.' }
  const browser = await openChromium()
  return browser ? { browser } : { missing: noChromium }
}

/** A fleet whose page shows what Chromium itself takes on this machine, beside the same load. */
const small = { devices: 200, cells: 100 }

type Look = { drawnMs: number; dataBytes: number }

/**
 * The page of the whole fleet in headless Chromium of 1280 × 800 px with software rendering, and in turns with it the same page with
 * the generated tiles of a small fleet.
 */
export async function pageFigures(api: ServedApi, rounds: number): Promise<Figure[]> {
  const { browser, missing } = await openPageBrowser()
  if (!browser) return [{ name: `page: ${missing}`, value: '–' }]
  const floor = await serveMap(dirname(built), small)
  const [seen, floorSeen]: [Look[], Look[]] = [[], []]
  try {
    // The first page of a browser includes the start of the browser.
    for (let round = -1; round < rounds; round++) {
      const [large, little] = [
        await look(browser, `http://127.0.0.1:${api.port}/`, api.key),
        await look(browser, `${floor.url}/`, 'flk_bench'),
      ]
      if (round < 0) continue
      seen.push(large)
      floorSeen.push(little)
    }
  } finally {
    floor.close()
    await browser.close()
  }
  const [drawnMs, floorMs] = [seen, floorSeen].map((looks) => median(looks.map((one) => one.drawnMs))) as [
    number,
    number,
  ]
  return [
    {
      name: 'page: first picture of the whole fleet, software rendering',
      value: `${Math.round(drawnMs)} ms`,
      ratio: `${(drawnMs / floorMs).toFixed(1)} × ${small.devices} devices`,
      target: '< 2,000 ms',
    },
    { name: `page: the same with generated tiles of ${small.devices} devices`, value: `${Math.round(floorMs)} ms` },
    {
      name: 'page: responses up to then, beside the bundle',
      value: `${(median(seen.map(({ dataBytes }) => dataBytes)) / 1e6).toFixed(2)} MB`,
      target: '< 1.5 MB',
    },
  ]
}

/** From the text in the search of the page to the name of the device in its list, in a page that shows the whole fleet. */
export async function findingFigures(api: ServedApi, { deviceIds }: MillionFleet, searches: number): Promise<Figure[]> {
  const { browser, missing } = await openPageBrowser()
  if (!browser) return [{ name: `page: ${missing}`, value: '–' }]
  try {
    const reader = await openReader(browser, `http://127.0.0.1:${api.port}/`, { key: api.key })
    await reader.seesMap()
    const search = reader.page.getByLabel('Find a device by name')
    const hits = reader.page.getByRole('list', { name: 'Found devices' }).getByRole('button')
    const foundMs: number[] = []
    for (let round = 0; round < searches; round++) {
      const deviceId = deviceIds[Math.floor((deviceIds.length * (round + 0.5)) / searches)]
      const { name } = JSON.parse((await api.get(`/devices/${deviceId}`)).bytes.toString()) as { name: string }
      const startMs = performance.now()
      await search.fill(name)
      await hits.filter({ hasText: name }).first().waitFor({ timeout: drawnWithinMs })
      foundMs.push(performance.now() - startMs)
      await search.fill('')
      await hits.first().waitFor({ state: 'detached' })
    }
    const [typical, longest] = [median(foundMs), percentile(foundMs, 100)].map((ms) => `${Math.round(ms)} ms`)
    return [
      {
        name: `page: a device found by its name, ${searches} times, software rendering`,
        value: `${typical}, at most ${longest}`,
        target: '< 1,000 ms',
      },
    ]
  } finally {
    await browser.close()
  }
}

async function look(browser: Browser, address: string, key: string): Promise<Look> {
  const reader = await openReader(browser, address, { key })
  try {
    await Promise.race([reader.seesMap(), tooLate()])
    const drawnMs = await reader.page.evaluate<number>(
      "performance.getEntriesByName('routerfleet:devices-drawn')[0].startTime",
    )
    return { drawnMs, dataBytes: await reader.dataBytes() }
  } finally {
    await reader.close()
  }
}

async function tooLate(): Promise<never> {
  await pause(drawnWithinMs, undefined, { ref: false })
  throw new Error('The page did not draw the fleet within a minute.')
}
