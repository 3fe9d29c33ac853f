import { once } from 'node:events'
import { forkAlone, stopChild } from './processes.ts'
import type { Figure } from './report.ts'
import type { ServedApi } from './served-api.ts'

export type PanningOrder = { port: number; key: string; minutes: number }

/**
 * The memory of the page while a person moves the map. The browser draws in software with more than half a core, which the
 * computer of that person would do. Its processes therefore have a low priority.
 */
export async function panningFigures({ port, key }: ServedApi, minutes: number): Promise<Figure[]> {
  const child = forkAlone(new URL('./panning-process.ts', import.meta.url), {
    stdio: ['ignore', 2, 'inherit', 'ipc'],
  })
  try {
    child.send({ port, key, minutes } satisfies PanningOrder)
    // After the answer, the end is expected. `Promise.race` handles its rejection.
    const answered = once(child, 'message').then(([figures]) => figures as Figure[])
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`The process that pans the map ended with code ${code}.`)
    })
    return await Promise.race([answered, ended])
  } finally {
    await stopChild(child)
  }
}
