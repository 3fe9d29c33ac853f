import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** The headless shell first: it opens a page without the map in a third of the processor time of the whole browser. */
const wellKnown = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The reason for skipped browser tests when `openChromium` returns undefined. */
export const noChromium = 'Chromium not found. Install it, or set CHROMIUM_PATH.'

/**
 * Starts the installed Chromium in headless mode with software rendering and without its own background requests. Returns
 * undefined when no Chromium is installed.
 */
export async function openChromium(flags: readonly string[] = []): Promise<Browser | undefined> {
  const executablePath = [process.env.CHROMIUM_PATH, ...wellKnown].find((path) => path && existsSync(path))
  if (!executablePath) return undefined
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      // Only WebGL: drawing the rest of a page with it takes more processor time than Chromium's own drawing in software.
      '--use-angle=swiftshader-webgl',
      '--enable-unsafe-swiftshader',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-quic',
      '--disable-sync',
      ...flags,
    ],
  })
}
