import type { Page } from 'playwright-core'

/** The view, filters and selection of the map, which its address contains. */
export const parameters = (page: Page) => new URLSearchParams(new URL(page.url()).hash.split('?')[1])

/** The accessible name of the map, which says how many devices are in view. */
export const mapLabel = (page: Page) => page.getByRole('region', { name: /^Map,/ }).getAttribute('aria-label')

/** How many devices the filters show. */
export const shownCount = (page: Page) =>
  page.getByRole('complementary', { name: 'Filters' }).locator('strong').first().textContent()

/** Returns the screen position of a place, calculated from the view in the address. */
export async function pixelOf(page: Page, at: { lon: number; lat: number }): Promise<{ x: number; y: number }> {
  const box = await page.getByRole('region', { name: /^Map,/ }).boundingBox()
  if (!box) throw new Error('There is no map.')
  const [lon, lat, zoom] = ['lon', 'lat', 'z'].map((name) => Number(parameters(page).get(name))) as [
    number,
    number,
    number,
  ]
  const size = 512 * 2 ** zoom
  const northing = (degrees: number) => Math.log(Math.tan(Math.PI / 4 + (degrees * Math.PI) / 360)) / (2 * Math.PI)
  const x = box.x + box.width / 2 + ((at.lon - lon) / 360) * size
  const y = box.y + box.height / 2 - (northing(at.lat) - northing(lat)) * size
  return { x, y }
}
