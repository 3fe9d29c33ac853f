import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { noChromium, openChromium } from '../test/browser/chromium.ts'
import { openReader } from '../test/browser/reader.ts'
import type { Figure } from './report.ts'
import type { ServedApi } from './served-api.ts'
import { median } from './statistics.ts'

const built = join(import.meta.dirname, '../apps/fleet-map/dist/index.html')
const drawnWithinMs = 60_000

/** Chromium, if it is installed and the page is built. */
export async function openPageBrowser() {
  if (!existsSync(built)) return { missing: 'not built. Build it with npm start.' }
  const browser = await openChromium()
  return browser ? { browser } : { missing: noChromium }
}

/** The page of the whole fleet in headless Chromium of 1280 × 800 px with software rendering. */
export async function pageFigures(api: ServedApi, rounds: number): Promise<Figure[]> {
  const { browser, missing } = await openPageBrowser()
  if (!browser) return [{ name: `page: ${missing}`, value: '–' }]
  const seen: { drawnMs: number; dataBytes: number }[] = []
  try {
    // The first page of a browser includes the start of the browser.
    for (let round = -1; round < rounds; round++) {
      const reader = await openReader(browser, `http://127.0.0.1:${api.port}/`, { key: api.key })
      await Promise.race([reader.seesMap(), tooLate()])
      const drawnMs = await reader.page.evaluate<number>(
        "performance.getEntriesByName('routerfleet:devices-drawn')[0].startTime",
      )
      const dataBytes = await reader.dataBytes()
      await reader.close()
      if (round >= 0) seen.push({ drawnMs, dataBytes })
    }
  } finally {
    await browser.close()
  }
  return [
    {
      name: 'page: first picture of the whole fleet, software rendering',
      value: `${Math.round(median(seen.map(({ drawnMs }) => drawnMs)))} ms`,
      target: '< 2,000 ms',
    },
    {
      name: 'page: responses up to then, beside the bundle',
      value: `${(median(seen.map(({ dataBytes }) => dataBytes)) / 1e6).toFixed(2)} MB`,
      target: '< 1.5 MB',
    },
  ]
}

async function tooLate(): Promise<never> {
  await pause(drawnWithinMs, undefined, { ref: false })
  throw new Error('The page did not draw the fleet within a minute.')
}
