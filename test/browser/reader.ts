import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

export type Reader = {
  page: Page
  /** Console errors, exceptions, and requests to other origins. */
  problems: string[]
  /** Returns the text of every JSON response that the page received. Needs `keepsAnswers`. */
  answers: () => Promise<string>
  /** Returns the size of all responses as sent, beside the files of the page. */
  dataBytes: () => Promise<number>
  /** Resolves once the map shows devices and coverage. */
  seesMap: () => Promise<void>
  /** Resolves once the map has not moved for a second. */
  mapRests: () => Promise<void>
  close: () => Promise<void>
}

export type ReaderOptions = BrowserContextOptions & {
  /** Signs in with this key before the page loads. */
  key?: string | undefined
  /** Other origins that the test visits, such as an identity provider. */
  otherOrigins?: readonly string[]
  /** Reads the text of every JSON response from the browser, which takes time of its processes. */
  keepsAnswers?: boolean
  /** A script that runs before those of the page. */
  before?: string
  /** Status codes that the test provokes. Chromium logs each as a console error. */
  expectedStatuses?: readonly number[]
  /** The network between the browser and the service. Default: as fast as it is. */
  network?: { bitsPerSecond: number; latencyMs: number }
}

/** How long an action waits for its element. Beside other browsers, a page that draws in software is slow. */
const waitsMs = 60_000

/** A fourth of the pixels: the map is drawn in software, which takes half of the browser's processor time otherwise. */
const screen = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 0.5 }

const fileTypes = new Set(['document', 'script', 'stylesheet', 'font', 'image'])
const storageKey = 'routerfleet.apiKey'

/** Opens an address of the page in a new browser context. */
export async function openReader(browser: Browser, address: string, options: ReaderOptions = {}): Promise<Reader> {
  const { key, keepsAnswers, before, expectedStatuses = [], otherOrigins = [], network, ...contextOptions } = options
  const context = await browser.newContext({ ...screen, ...contextOptions })
  context.setDefaultTimeout(waitsMs)
  const page = await context.newPage()
  const problems: string[] = []
  const answers: Promise<string>[] = []
  const sizes: Promise<number>[] = []
  const { origin } = new URL(address)
  await context.route(
    ({ origin: asked, protocol }) => asked !== origin && !otherOrigins.includes(asked) && protocol.startsWith('http'),
    (route) => {
      problems.push(`request to another origin: ${route.request().url()}`)
      return route.abort()
    },
  )
  page.on('pageerror', (error) => problems.push(`exception: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    const expected = expectedStatuses.some((status) => message.text().includes(`status of ${status}`))
    if (message.type() === 'error' && !expected) problems.push(`console: ${message.text()}`)
  })
  page.on('response', (response) => {
    if (keepsAnswers && response.headers()['content-type']?.includes('json'))
      answers.push(response.text().catch(() => ''))
  })
  page.on('requestfinished', (request) => {
    if (fileTypes.has(request.resourceType())) return
    const size = request.sizes().then(
      ({ responseBodySize }) => responseBodySize,
      () => 0,
    )
    sizes.push(size)
  })
  const script = key === undefined ? before : `sessionStorage.setItem('${storageKey}', '${key}'); ${before ?? ''}`
  if (script) await page.addInitScript(script)
  if (network) await slowDown(page, network)
  await page.goto(address)
  return {
    page,
    problems,
    answers: async () => {
      if (!keepsAnswers) throw new Error('The answers were not kept.')
      return (await Promise.all(answers)).join('\n')
    },
    dataBytes: async () => (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0),
    seesMap: () => drawn(page),
    mapRests: () => still(page),
    close: () => context.close(),
  }
}

async function slowDown(
  page: Page,
  { bitsPerSecond, latencyMs }: NonNullable<ReaderOptions['network']>,
): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Network.enable')
  const throughput = bitsPerSecond / 8
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: latencyMs,
    downloadThroughput: throughput,
    uploadThroughput: throughput,
  })
}

/** Looking at each frame would make the page draw each one. */
const lookEveryMs = 100

/** Waits for the page's performance marks. The Content-Security-Policy forbids `waitForFunction`. */
const drawn = (page: Page): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    const seen = () => ['devices', 'coverage'].every((part) => performance.getEntriesByName('routerfleet:' + part + '-drawn').length > 0)
    const look = () => (seen() ? resolve() : setTimeout(look, ${lookEveryMs}))
    look()
  })`)

const stillForMs = 1_000

/** Waits until the address, which contains the view of the map, stops changing. */
const still = (page: Page): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    let [seen, since] = [location.href, performance.now()]
    const look = () => {
      const now = performance.now()
      if (location.href !== seen) [seen, since] = [location.href, now]
      now - since > ${stillForMs} ? resolve() : setTimeout(look, ${lookEveryMs})
    }
    look()
  })`)
