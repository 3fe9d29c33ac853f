import type { Page } from 'playwright-core'
import { describe, expect, test, vi } from 'vitest'
import { servePage } from './map-background.ts'
import type { Product } from './product.ts'
import type { BrowserSession } from './session.ts'

const minute = 60_000

const canvas = (page: Page) => page.locator('canvas.maplibregl-canvas')
const towns = async (page: Page) => (await canvas(page).getAttribute('aria-description')) ?? ''
const background = (page: Page) => page.locator('[data-background]').getAttribute('data-background')

/** Resolves once the map is built, which `npm start` does in the background. */
export async function worldMapIsBuilt({ url }: Product): Promise<void> {
  const isOffered = async () => expect(await (await fetch(url)).text()).toContain('world.pmtiles')
  await vi.waitFor(isOffered, { timeout: 2 * minute, interval: 500 })
}

/** Tests the map that the page draws without settings, in the session of a file that has Chromium and the product. */
export function testWorldMap({ product, read }: BrowserSession): void {
  describe('the map of the world', () => {
    test.each(['light', 'dark'] as const)('names the towns around a place in the %s theme', async (colorScheme) => {
      const { page } = await read('#/map?lon=5.91&lat=51.98&z=9', { colorScheme })
      await expect.poll(() => background(page)).toBe('world')
      await expect.poll(() => towns(page)).toMatch(/^Towns in view: .*Arnhem/)
      expect(await towns(page)).toContain('Nijmegen')
      const attribution = page.locator('.maplibregl-ctrl-attrib')
      expect(await attribution.textContent()).toMatch(/Natural Earth.*GeoNames.*CC BY 4\.0/)
    })

    test('names a small town far from others, and towns at both sides of the antimeridian', async () => {
      const { page } = await read('#/map?lon=-51.72&lat=64.18&z=9')
      await expect.poll(() => towns(page)).toContain('Nuuk')
      const { page: fiji } = await read('#/map?lon=179.4&lat=-16.5&z=8')
      await expect.poll(() => towns(fiji)).toMatch(/Labasa|Taveuni|Savusavu/)
    })

    test('shows the world in place of a background that cannot be loaded, with a notice', async () => {
      const served = await servePage(product().url, { MAP_STYLE_URL: 'http://127.0.0.1:9/style.json' })
      const { page, problems } = await read(
        '#/map?lon=5.91&lat=51.98&z=9',
        { otherOrigins: ['http://127.0.0.1:9'] },
        served.url,
      )
      await page.getByText('The map background cannot be loaded.').waitFor()
      await expect.poll(() => background(page)).toBe('world')
      await expect.poll(() => towns(page)).toContain('Arnhem')
      problems.splice(0)
      await page.close()
      served.close()
    })

    test('a platform administrator chooses another background, and sees who learns what', async () => {
      const { url, adminKey } = product()
      const style = await servePage(url, {})
      const { page } = await read('#/settings?section=map', { key: adminKey, otherOrigins: [style.url] })
      await page.getByText('No other server learns which area a reader looks at.').waitFor()
      await page.getByRole('radio', { name: /Another map style/ }).check()
      await page.getByLabel('Address of the style').fill(`${style.url}/missing.json`)
      await page.getByText(`loads it from ${new URL(style.url).host}, which learns`).waitFor()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved.').waitFor()

      const fleet = await read('#/map?lon=5.91&lat=51.98&z=9', { otherOrigins: [style.url], expectedStatuses: [404] })
      await fleet.page.getByText('The map background cannot be loaded.').waitFor()
      await expect.poll(() => background(fleet.page)).toBe('world')
      fleet.problems.splice(0)

      await page.getByRole('radio', { name: /Map of the world/ }).check()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved.').waitFor()
      await expect
        .poll(async () => (await (await fetch(url)).text()).includes('missing.json'), { timeout: 10_000 })
        .toBe(false)
      style.close()
    })
  })
}
