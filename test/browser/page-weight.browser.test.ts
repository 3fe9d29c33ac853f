import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const built = join(import.meta.dirname, '../../apps/fleet-map/dist')

// The panel of a device, with its trips and charts.
const devicePanel = /\/(device-panel|device-signal|device-trips|chart|uPlot)[-.][^/]+$/
// Other panels and views that are loaded when they are first opened.
const onDemand = /\/(cell-panel|dead-zones|device-map|place-panel|route-panel)-[^/]+$/
const onDemandViews =
  /\/(alerts|connect|copy-text|devices|device-page|groups|help|jobs|overview|place-detail|planned-batch|profiles|settings|variables)-[^/]+$/
// The readers of route files and of GeoJSON that people type.
const fileReaders = /\/(route-file|geojson)-[^/]+$/
// A page of docs/ each.
const helpPages = /\/help\.[^/]+\.js$/
// What the map of the world and a configured background need.
const backgrounds = /\/(configured-background|world|archives)-[^/]+$/
// H3, which only the outline of a selected cell or zone needs.
const outlines = /\/hexes\.worker-[^/]+$/
// A browser loads only the parts of the font that have the letters of the page.
const fonts = /\/inter-[^/]+\.woff2$/
const apiReference = /\/docs(-[^/]+)?\.(html|js|css)$/
const compressed = /\.(br|gz)$/

// What the first frame needs, with navigation and skeleton. At 400 kbit/s, 60 KB take 1.2 s.
test('loads at most 60 KB before the first frame, and no map', async () => {
  const page = await readFile(join(built, 'index.html'), 'utf8')
  const loaded = [...page.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, name = '']) => name)
  expect(loaded.length).toBeGreaterThan(2)
  expect(loaded.filter((name) => /maplibre|map-/.test(name))).toEqual([])
  expect(await weigh(loaded.map((name) => join(built, name)))).toBeLessThan(60_000)
})

/** Returns the gzipped size of the files in bytes. */
async function weigh(files: readonly string[]): Promise<number> {
  const weights = await Promise.all(files.map(async (file) => gzipSync(await readFile(file), { level: 9 }).length))
  return weights.reduce((sum, bytes) => sum + bytes, 0)
}

test('limits the gzipped size: map 570 KB, device panel 40 KB, outlines 65 KB, other panels 10 KB, file readers 5 KB, views 95 KB, background 30 KB, help 150 KB, font 50 KB and 90 KB, API reference 500 KB', async () => {
  const entries = await readdir(built, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile() && !compressed.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  expect(files.some((file) => file.endsWith('index.html'))).toBe(true)
  const panels = files.filter((file) => onDemand.test(file))
  const views = files.filter((file) => onDemandViews.test(file))
  const reference = files.filter((file) => apiReference.test(file))
  expect(panels.length).toBeGreaterThan(0)
  expect(reference.length).toBe(3)
  expect(await weigh(panels)).toBeLessThan(10_000)
  expect(views.length).toBeGreaterThan(0)
  expect(await weigh(views)).toBeLessThan(95_000)
  expect(await weigh(reference)).toBeLessThan(500_000)
  const device = files.filter((file) => devicePanel.test(file))
  expect(device.length).toBeGreaterThan(2)
  expect(await weigh(device)).toBeLessThan(40_000)
  const readers = files.filter((file) => fileReaders.test(file))
  expect(readers.length).toBe(2)
  expect(await weigh(readers)).toBeLessThan(5_000)
  const background = files.filter((file) => backgrounds.test(file))
  expect(background.length).toBe(3)
  expect(await weigh(background)).toBeLessThan(30_000)
  const help = files.filter((file) => helpPages.test(file))
  expect(help.length).toBeGreaterThan(0)
  expect(await weigh(help)).toBeLessThan(150_000)
  const shapes = files.filter((file) => outlines.test(file))
  expect(shapes.length).toBe(1)
  expect(await weigh(shapes)).toBeLessThan(65_000)
  const fontOf = (letters: string) => files.filter((file) => file.includes(`/inter-${letters}-wght-`))
  expect(fontOf('latin')).toHaveLength(1)
  expect(await weigh(fontOf('latin'))).toBeLessThan(50_000)
  expect(await weigh(fontOf('latin-ext'))).toBeLessThan(90_000)
  const map = files.filter(
    (file) =>
      !fonts.test(file) &&
      ![...panels, ...device, ...readers, ...views, ...reference, ...background, ...shapes, ...help].includes(file),
  )
  expect(await weigh(map)).toBeLessThan(570_000)
})
