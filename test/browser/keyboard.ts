import type { Locator, Page } from 'playwright-core'

/** Presses Tab until an element has the focus. Fails if the focus is lost or if the element cannot be reached. */
export async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await target.waitFor()
  const hasFocus = () => target.evaluate((element) => element.matches(':focus'))
  for (let presses = 0; presses < 80; presses++) {
    if (await hasFocus()) return
    await page.keyboard.press(key)
  }
  throw new Error(`Tab does not reach ${target}.`)
}

/** Goes to an element with Tab and presses a key there. */
export async function pressOn(page: Page, target: Locator, key: 'Enter' | 'Space' = 'Enter'): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press(key)
}

/** Goes to a field with Tab and types there. */
export async function typeInto(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.type(text)
}

/** The name of the element that has the focus. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent).trim()",
  )
