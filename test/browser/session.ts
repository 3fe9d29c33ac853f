import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { noChromium, openChromium } from './chromium.ts'
import { type Product, startProduct } from './product.ts'
import { openReader, type Reader, type ReaderOptions } from './reader.ts'

const minuteMs = 60_000
/** Longer than what starts waits for: a product whose start is left alone would run on beside the other tests. */
const startLimitMs = 7 * minuteMs

/** Opens an address of the page in a new browser context. */
type OpenPage = (address: string, options?: ReaderOptions) => Promise<Reader>

/**
 * Starts Chromium for the tests of a file, and what the pages need. Skips the tests and starts nothing without Chromium.
 * After each test, closes its pages and fails if one of them had a problem.
 */
export function browserPages({ start, stop }: { start: () => Promise<void>; stop: () => Promise<void> }): OpenPage {
  let browser: Browser | undefined
  const readers: Reader[] = []
  beforeAll(async () => {
    browser = await openChromium()
    if (browser) await start()
  }, startLimitMs)
  afterAll(async () => {
    if (!browser) return
    await browser.close()
    await stop()
  }, 2 * minuteMs)
  beforeEach((context) => {
    if (!browser) context.skip(noChromium)
  })
  afterEach(async ({ task }) => {
    if (task.result?.errors?.length) for (const { page } of readers) await printPage(page)
    const problems = readers.flatMap((reader) => reader.problems)
    for (const reader of readers.splice(0)) await reader.close()
    expect(problems).toEqual([])
  })
  return async (address, options) => {
    if (!browser) throw new Error(noChromium)
    // The pages are drawn in software: each frame of a flight of the map or of a placeholder takes time of a core.
    const reader = await openReader(browser, address, { reducedMotion: 'reduce', ...options })
    readers.push(reader)
    return reader
  }
}

/** Prints where a page of a failed test is and what it shows, because no one sees the browser of a CI run. */
async function printPage(page: Page): Promise<void> {
  const text = await page
    .locator('body')
    .textContent({ timeout: 5_000 })
    .catch((error: Error) => `no text: ${error.message}`)
  // The fragment of a sign-in link is a secret.
  const address = page.url().replace(/link=.*/, 'link=…')
  console.error(
    `Error: the test failed with this page open: ${address}: ${(text ?? '').replaceAll(/\s+/g, ' ').slice(0, 1_000)}`,
  )
}

export type BrowserSession = {
  product: () => Product
  /** Opens a view of the page, signed in with the demo key by default. `baseUrl`: the product's by default. */
  read: (place: string, options?: ReaderOptions, baseUrl?: string) => Promise<Reader>
}

type SessionOptions = {
  /** The devices of the demo fleet; the default of the product is 200. Fewer make less work for the tests beside. */
  devices?: number
  /** Starts what the product needs, such as a mail server, and returns the settings of the apps. */
  environment?: () => Promise<Record<string, string>>
  /** Runs once after the start of the product. */
  prepare?: (product: Product) => Promise<void>
  /** Runs after the stop of the product. */
  stop?: () => Promise<void>
}

/** Starts Chromium and the product with its demo fleet for the tests of a file. */
export function browserSession({ devices, environment, prepare, stop }: SessionOptions = {}): BrowserSession {
  let running: Product | undefined
  const product = (): Product => {
    if (!running) throw new Error('The product has not started.')
    return running
  }
  const open = browserPages({
    start: async () => {
      const fleet = devices === undefined ? {} : { COUNT: String(devices) }
      running = await startProduct({ ...fleet, ...(await environment?.()) })
      await prepare?.(running)
    },
    stop: async () => {
      await running?.close()
      await stop?.()
    },
  })
  return {
    product,
    read: (place, options = {}, baseUrl = product().url) =>
      open(`${baseUrl}/${place}`, { key: product().demoKey, ...options }),
  }
}
