import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const wellKnown = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Why the browser tests do not run where `openChromium` gives nothing. */
export const noChromium = 'No Chromium was found: install one or name it in CHROMIUM_PATH.'

/**
 * The machine's own Chromium without a window, drawing in software, asking nobody but this machine; undefined when there
 * is none.
 */
export async function openChromium(flags: readonly string[] = []): Promise<Browser | undefined> {
  const executablePath = [process.env.CHROMIUM_PATH, ...wellKnown].find((path) => path && existsSync(path))
  if (!executablePath) return undefined
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-quic',
      '--disable-sync',
      ...flags,
    ],
  })
}
