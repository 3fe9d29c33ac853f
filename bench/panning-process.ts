import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { openReader, type Reader } from '../test/browser/reader.ts'
import { openPageBrowser } from './million-page.ts'
import type { PanningOrder } from './million-panning.ts'
import type { Figure } from './report.ts'

const minuteMs = 60_000
const center = { x: 640, y: 400 }
/** Wheel movements per round: from the whole fleet to streets and back. */
const zoomSteps = 8
const dragsPerZoom = 3
const pauseMs = 400
const openAttempts = 5

/** The memory of the page while a person moves the map and zooms between the whole fleet and streets. */
async function panningFigures({ port, key, minutes }: PanningOrder): Promise<Figure[]> {
  const { browser, missing } = await openPageBrowser()
  if (!browser) return [{ name: `panning: ${missing}`, value: '–' }]
  try {
    yieldToService()
    const reader = await openPatiently(browser, `http://127.0.0.1:${port}/`, key)
    await reader.seesMap()
    const session = await reader.page.context().newCDPSession(reader.page)
    const before = await usedMegabytes(session)
    const endMs = performance.now() + minutes * minuteMs
    let [most, moves] = [before, 0]
    while (performance.now() < endMs) {
      moves += await zoomAndPan(reader.page, endMs)
      most = Math.max(most, await usedMegabytes(session))
    }
    const after = await usedMegabytes(session)
    return [
      {
        name: `page: memory in Chromium after ${minutes} minutes of panning, ${moves} movements`,
        value: `${after} MB after a garbage collection, ${most} MB at most; ${before} MB at the start`,
        target: '< 300 MB',
      },
      { name: 'page: errors in the console meanwhile', value: String(reader.problems.length), target: '0' },
    ]
  } finally {
    await browser.close()
  }
}

/**
 * Zooms in at a random point, step by step, and drags the map at each step. Then zooms out again. Ends early at a time of the
 * monotonic clock, because a step of a slow page takes seconds.
 */
async function zoomAndPan(page: Page, endMs: number): Promise<number> {
  let moves = 0
  for (const direction of [-1, 1]) {
    for (let step = 0; step < zoomSteps && performance.now() < endMs; step++) {
      await page.mouse.move(near(center.x), near(center.y))
      await page.mouse.wheel(0, direction * 400)
      await pause(pauseMs)
      for (let drag = 0; drag < dragsPerZoom; drag++) {
        await page.mouse.move(center.x, center.y)
        await page.mouse.down()
        await page.mouse.move(near(center.x), near(center.y), { steps: 10 })
        await page.mouse.up()
        await pause(pauseMs)
      }
      moves += 1 + dragsPerZoom
    }
  }
  return moves
}

const near = (middle: number) => middle + (Math.random() - 0.5) * 300

/** Objects of JavaScript and the page, and the memory of arrays, as Chromium counts them. */
async function usedMegabytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  // Chromium also returns the two parts that the types do not have.
  const usage: Record<string, number> = await session.send('Runtime.getHeapUsage')
  const { usedSize = 0, embedderHeapUsedSize = 0, backingStorageSize = 0 } = usage
  return Math.round((usedSize + embedderHeapUsedSize + backingStorageSize) / 1e6)
}

/** While the service is busy, a page of low priority may not load within the usual time. */
async function openPatiently(browser: Browser, address: string, key: string): Promise<Reader> {
  for (let left = openAttempts; ; left--) {
    try {
      return await openReader(browser, address, { key })
    } catch (error) {
      if (left <= 1) throw error
    }
  }
}

/** Gives this process and its browser, each a session of its own, a low priority (Linux). */
function yieldToService(): void {
  const { PRIORITY_BELOW_NORMAL } = constants.priority
  setPriority(PRIORITY_BELOW_NORMAL)
  for (const pid of readdirSync('/proc')) {
    try {
      // The second field behind the name is the parent.
      const parent = readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /, '')
        .split(' ')[1]
      if (pid === String(process.pid) || parent === String(process.pid))
        writeFileSync(`/proc/${pid}/autogroup`, String(PRIORITY_BELOW_NORMAL))
    } catch {
      // Not a process, one that has ended, or a kernel without groups of sessions.
    }
  }
}

// The browser ends with this process.
process.once('disconnect', () => process.exit())
process.once('message', async (order: PanningOrder) => {
  process.send?.(await panningFigures(order))
  process.disconnect?.()
})
