import type { Page } from 'playwright-core'
import type { ReaderOptions } from './reader.ts'

/** The two screens on which an operator must be able to do every task. */
const desk = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' } satisfies ReaderOptions
export const phone = {
  viewport: { width: 390, height: 844 },
  colorScheme: 'dark',
  hasTouch: true,
} satisfies ReaderOptions
export const screens = [
  ['desk', desk],
  ['phone', phone],
] as const

/** Opens a view from the navigation. A phone has some of them behind More. */
export async function openView(page: Page, name: string): Promise<void> {
  const bar = page.getByRole('navigation', { name: 'Views' })
  await bar.waitFor()
  // The entry of the alerts also says how many are open.
  const entry = bar.getByRole('link', { name: new RegExp(`^${name}`) })
  if ((await entry.count()) === 0) await bar.getByRole('button', { name: 'More' }).click()
  await entry.click()
}

/** Chooses an action from the menu of a device, or of the devices that are selected. */
export async function chooseAction(page: Page, name: string): Promise<void> {
  await page.getByText('More actions').click()
  await page.getByRole('button', { name, exact: true }).click()
}

/** Returns what a finger on this screen could not use: controls under 40 px, and a page that is wider than the screen. */
export async function tooSmallToTouch(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const found = []
    const { scrollWidth } = document.documentElement
    if (scrollWidth > innerWidth) found.push('the page is ' + scrollWidth + ' px wide')
    for (const control of document.querySelectorAll('button, a[href], input, select, textarea, summary')) {
      if (!control.checkVisibility({ visibilityProperty: true })) continue
      // Links in a sentence are as high as its lines.
      if (control.matches('a') && getComputedStyle(control).display === 'inline') continue
      const around = getComputedStyle(control, '::before')
      const boxes = [control, control.closest('label')].flatMap((element) => element?.getBoundingClientRect() ?? [])
      if (around.position === 'absolute') boxes.push({ width: parseFloat(around.width), height: parseFloat(around.height) })
      const [width, height] = ['width', 'height'].map((side) => Math.round(Math.max(...boxes.map((box) => box[side]))))
      const name = control.ariaLabel || control.textContent || control.name || control.type
      if (Math.min(width, height) < 40) found.push(name.trim() + ': ' + width + ' × ' + height)
    }
    return found
  })()`)
}
