import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { noChromium, openChromium } from './chromium.ts'
import { type Product, startProduct } from './product.ts'
import { openReader, type Reader, type ReaderOptions } from './reader.ts'

const minuteMs = 60_000

type BrowserSession = {
  product: () => Product
  /** Opens a view of the page, signed in with the demo key by default. */
  read: (place: string, options?: ReaderOptions) => Promise<Reader>
}

/**
 * Starts Chromium and the product for the tests of a file. Skips them without Chromium. After each test, closes its pages
 * and fails if one of them had a problem.
 */
export function browserSession(): BrowserSession {
  let browser: Browser | undefined
  let product: Product | undefined
  const readers: Reader[] = []
  const started = (): Product => {
    if (!product) throw new Error('The product has not started.')
    return product
  }
  beforeAll(async () => {
    browser = await openChromium()
    if (browser) product = await startProduct()
  }, 3 * minuteMs)
  afterAll(async () => {
    await browser?.close()
    await product?.close()
  }, minuteMs)
  beforeEach((context) => {
    if (!browser) context.skip(noChromium)
  })
  afterEach(async () => {
    const problems = readers.flatMap((reader) => reader.problems)
    for (const reader of readers.splice(0)) await reader.close()
    expect(problems).toEqual([])
  })
  return {
    product: started,
    async read(place, options = {}) {
      if (!browser) throw new Error(noChromium)
      const { url, demoKey } = started()
      const reader = await openReader(browser, `${url}/${place}`, { key: demoKey, ...options })
      readers.push(reader)
      return reader
    },
  }
}
