import type { z } from 'zod'
import type { Clock } from '#core/clock'

/** The outcome of a request to the identity provider. `suppressed`: not sent, because an earlier one has just failed. */
export type ProviderOutcome = 'success' | 'failure' | 'suppressed'

/** The identity provider is unavailable. */
export class ProviderUnavailableError extends Error {
  override readonly name = 'ProviderUnavailableError'
}

const timeoutMs = 5_000
const firstPauseMs = 1_000
const maxPauseMs = 30_000

/**
 * Returns a fetch function for JSON documents that pauses after a failure: 1 s, doubling up to 30 s. Requests during the
 * pause fail at once, so that unauthenticated callers cannot cause load on an unavailable provider. Any response other than
 * 200 with JSON of the given schema is a failure. Rejects with `ProviderUnavailableError`.
 */
export function createProviderFetch(clock: Clock, observe: (outcome: ProviderOutcome) => void) {
  let failures = 0
  let pausedUntilMs = 0

  const load = async (address: string, schema: z.ZodType, init: RequestInit): Promise<Response> => {
    const answer = await fetch(address, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error('not 200')
    schema.parse(JSON.parse(text))
    return new Response(text)
  }

  return async (address: string, schema: z.ZodType, init: RequestInit = {}): Promise<Response> => {
    if (clock() < pausedUntilMs) {
      observe('suppressed')
      throw new ProviderUnavailableError('A recent request to the identity provider failed.')
    }
    try {
      const answer = await load(address, schema, init)
      failures = 0
      observe('success')
      return answer
    } catch (cause) {
      pausedUntilMs = clock() + Math.min(maxPauseMs, firstPauseMs * 2 ** failures)
      failures += 1
      observe('failure')
      throw new ProviderUnavailableError('The request to the identity provider failed.', { cause })
    }
  }
}
