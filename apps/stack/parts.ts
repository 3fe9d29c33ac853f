import type { Progress } from './progress.ts'
import { type Started, type Supervised, supervise } from './supervise.ts'

/** Starts a supervised part. Resolves when it serves requests. `stop` stops it with all others. */
export type Keep = <Part extends Started>(name: string, start: (signal: AbortSignal) => Promise<Part>) => Promise<Part>

export type Parts = {
  keep: Keep
  /** Stops all parts in reverse order, each with its own deadlines. */
  stop(): Promise<void>
}

/**
 * The parts of a running product in the order of their dependencies: a part may use the parts that started before it and
 * stops before them. `interrupted` aborts parts that are starting.
 */
export function createParts(order: readonly string[], progress: Progress, interrupted: AbortSignal): Parts {
  const kept = new Map<string, Promise<Supervised<Started>>>()
  const stopping = new AbortController()
  return {
    keep: async (name, start) => {
      const finished = progress.begin(name, 'starting')
      const supervised = supervise(
        (signal) => start(AbortSignal.any([signal, interrupted, stopping.signal])),
        (event) => progress.note(name, event),
      )
      // Register the part before it is ready, so that it is stopped if another part fails to start meanwhile.
      kept.set(name, supervised)
      const part = await supervised
      finished('ready')
      return part.current()
    },
    stop: async () => {
      stopping.abort()
      for (const name of order.toReversed()) {
        const part = await kept.get(name)?.catch(() => undefined)
        if (!part) continue
        const finished = progress.begin(name, 'stopping')
        await part.stop()
        finished('stopped')
      }
    },
  }
}
