import type { Progress } from './progress.ts'
import { type Started, type Supervised, supervise } from './supervise.ts'

/** Starts a part under supervision, to be stopped with all others; resolves with the part once it serves. */
export type Keep = <Part extends Started>(name: string, start: (signal: AbortSignal) => Promise<Part>) => Promise<Part>

export type Parts = {
  keep: Keep
  /** Stops all parts, the last one first, each with its own deadlines. */
  stop(): Promise<void>
}

/**
 * The parts of a running product in the order of their dependence: what starts later may use what started before it,
 * and is stopped before it. `interrupted` gives up what is just starting.
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
      // Known from its first moment: when a neighbour fails to start, this one is stopped also if it is not up yet.
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
