import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

export type Reader = {
  page: Page
  /** What no reader should meet: console errors, exceptions, and requests to anybody but the service. */
  problems: string[]
  /** The text of every answer the service gave to this page. */
  answers: () => Promise<string>
  /** Resolves once the map shows routers and hexagons. */
  seesMap: () => Promise<void>
  /** Resolves once the map has been still for a second: panels have opened and it lies beside them. */
  mapRests: () => Promise<void>
  close: () => Promise<void>
}

export type ReaderOptions = BrowserContextOptions & {
  /** Signs in with this key before the page loads. */
  key?: string | undefined
  /** Runs in the page before its own scripts. */
  before?: string
  /** Status codes that this reader provokes: Chromium logs each as an error of the console. */
  expectedStatuses?: readonly number[]
}

const storageKey = 'routerfleet.apiKey'

/** Opens the page at an address as somebody with a browser of their own. */
export async function openReader(browser: Browser, address: string, options: ReaderOptions = {}): Promise<Reader> {
  const { key, before, expectedStatuses = [], ...contextOptions } = options
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...contextOptions })
  const page = await context.newPage()
  const problems: string[] = []
  const answers: Promise<string>[] = []
  const { origin } = new URL(address)
  await context.route(
    ({ origin: asked, protocol }) => asked !== origin && protocol.startsWith('http'),
    (route) => {
      problems.push(`asked an outsider: ${route.request().url()}`)
      return route.abort()
    },
  )
  page.on('pageerror', (error) => problems.push(`exception: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    const expected = expectedStatuses.some((status) => message.text().includes(`status of ${status}`))
    if (message.type() === 'error' && !expected) problems.push(`console: ${message.text()}`)
  })
  page.on('response', (response) => {
    if (response.headers()['content-type']?.includes('json')) answers.push(response.text().catch(() => ''))
  })
  const script = key === undefined ? before : `sessionStorage.setItem('${storageKey}', '${key}'); ${before ?? ''}`
  if (script) await page.addInitScript(script)
  await page.goto(address)
  return {
    page,
    problems,
    answers: async () => (await Promise.all(answers)).join('\n'),
    seesMap: () => drawn(page),
    mapRests: () => still(page),
    close: () => context.close(),
  }
}

/** Waits for the page's own marks. The Content-Security-Policy forbids what `waitForFunction` does. */
const drawn = (page: Page): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    const seen = () => ['devices', 'coverage'].every((part) => performance.getEntriesByName('routerfleet:' + part + '-drawn').length > 0)
    const look = () => (seen() ? resolve() : requestAnimationFrame(look))
    look()
  })`)

const stillForMs = 1_000

/** The page writes where the map looks into its address. */
const still = (page: Page): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    let [seen, since] = [location.href, performance.now()]
    const look = (now) => {
      if (location.href !== seen) [seen, since] = [location.href, now]
      now - since > ${stillForMs} ? resolve() : requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })`)
