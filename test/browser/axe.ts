import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

export type Violation = { id: string; impact: string; nodes: string[] }

/** Looks at the view that the page shows. `found` has the violations of all views so far, by view and theme. */
export type Accessibility = {
  look: (view: string, sight?: string) => Promise<void>
  found: Record<string, Violation[]>
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const themes = ['light', 'dark'] as const
/** Buttons change their colours in a moment. It does not wait for `finished`, which may never settle. */
const endTransitions = `for (const animation of document.getAnimations())
  if (animation instanceof CSSTransition) animation.finish()`

/** What axe-core looks at: the selectors of parts, and the ids of rules. Default: the whole page and all rules. */
type Scope = { parts?: readonly string[]; rules?: readonly string[] }

/** Returns the serious and critical accessibility violations that axe-core finds. */
export async function violations(page: Page, { parts = ['html'], rules }: Scope = {}): Promise<Violation[]> {
  // Once for all views of a page: the browser takes a while to compile it.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe)
  const context = { include: parts.map((selector) => [selector]) }
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  return page.evaluate(`axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)}).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html }) => html.slice(0, 200)) })))`)
}

/** Collects the violations of each view of a visit in both themes. A theme changes only colours, so the second has one rule. */
export function accessibilityOf(page: Page): Accessibility {
  const found: Accessibility['found'] = {}
  return {
    found,
    look: async (view, sight) => {
      if (sight) await page.locator(sight).first().waitFor()
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme })
        await page.locator(`html[data-theme=${theme}]`).waitFor()
        await page.evaluate(endTransitions)
        const seen = await violations(page, theme === themes[0] ? {} : { rules: ['color-contrast'] })
        if (seen.length > 0) found[`${view}, ${theme}`] = seen
      }
    },
  }
}
