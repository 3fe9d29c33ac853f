import type { Browser } from 'playwright-core'
import { openReader } from '../test/browser/reader.ts'
import { type MapServer, serveMap } from './map-server.ts'
import type { Figure } from './report.ts'
import { median } from './statistics.ts'

const fleet = { devices: 200, cells: 100 }
const network = { bitsPerSecond: 400_000, latencyMs: 150 }

/** Measures when a reader with an empty cache sees the page at 400 kbit/s: first its frame, then the fleet. */
export async function firstPicture(browser: Browser, built: string, rounds: number): Promise<Figure[]> {
  const server = await serveMap(built, fleet)
  try {
    const overview: number[] = []
    const map: Awaited<ReturnType<typeof frameAndFleet>>[] = []
    for (let round = 0; round < rounds; round++) {
      overview.push(await frameOnly(browser, server))
      map.push(await frameAndFleet(browser, server))
    }
    const of = `at ${network.bitsPerSecond / 1_000} kbit/s with ${network.latencyMs} ms latency`
    const ms = (values: readonly number[]) => `${Math.round(median(values)).toLocaleString('en')} ms`
    return [
      { name: `overview ${of}: navigation and skeleton`, value: ms(overview), target: '< 3,000 ms' },
      {
        name: `map ${of}: navigation and skeleton`,
        value: ms(map.map(({ frameMs }) => frameMs)),
        target: '< 3,000 ms',
      },
      { name: `map ${of}: devices on the screen`, value: ms(map.map(({ fleetMs }) => fleetMs)) },
    ]
  } finally {
    server.close()
  }
}

async function frameOnly(browser: Browser, server: MapServer): Promise<number> {
  const reader = await open(browser, server, 'overview')
  try {
    return await markedAt(reader, 'frame')
  } finally {
    await reader.close()
  }
}

async function frameAndFleet(browser: Browser, server: MapServer) {
  const reader = await open(browser, server, 'map')
  try {
    await reader.seesMap()
    return { frameMs: await markedAt(reader, 'frame'), fleetMs: await markedAt(reader, 'routerfleet:devices-drawn') }
  } finally {
    await reader.close()
  }
}

/** Marks the first picture that has the navigation and something in the view. */
const marksFrame = `{
  const look = () => {
    const isShown = document.querySelector('nav[aria-label=Views]') && document.querySelector('main > *')
    isShown ? performance.mark('frame') : requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}`

const open = (browser: Browser, { url }: MapServer, view: string) =>
  openReader(browser, `${url}/#/${view}`, { key: 'flk_bench', before: marksFrame, network })

/** Milliseconds from the start of the navigation to a mark. */
const markedAt = ({ page }: Awaited<ReturnType<typeof openReader>>, mark: string): Promise<number> =>
  page.evaluate<number>(`performance.getEntriesByName('${mark}')[0].startTime`)
