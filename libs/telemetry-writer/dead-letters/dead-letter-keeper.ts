import { setTimeout as delay } from 'node:timers/promises'
import { appendDeadLetters, type DeadLetter, type DeadLetterPlace } from '#telemetry-log/dead-letters/dead-letters'
import { isShortage } from '#telemetry-log/segments/shortage'

export type DeadLetterKeeper = {
  /** Resolves when the letters are durable. Waits while the disk has no room; rejects when the signal aborts. */
  keep(letters: readonly DeadLetter[]): Promise<void>
}

const pauseMs = 1_000

/** Stores data that QuestDB rejects in the folder of the log. A full disk delays the writer but does not stop it. */
export function createDeadLetterKeeper(parts: {
  place: DeadLetterPlace
  onRetry: (detail: string) => void
  signal: AbortSignal
}): DeadLetterKeeper {
  const { place, onRetry, signal } = parts
  return {
    async keep(letters) {
      for (;;) {
        try {
          return appendDeadLetters(place, Date.now(), letters)
        } catch (error) {
          if (!isShortage(error)) throw error
          onRetry(`No room for dead letters in ${place.logFolder}.`)
          await delay(pauseMs, undefined, { signal })
        }
      }
    },
  }
}
