import { type Clock, systemClock } from '#core/clock'
import { resolvesWithin } from '#core/schedule'

/** A dependency of an app. `check` rejects, or exceeds the time limit, when the dependency is unavailable. */
export type ReadinessCheck = { name: string; check: () => Promise<void> }

type Readiness = {
  ready: boolean
  checks: Record<string, 'ok' | 'failed'>
  /** Why checks failed, if they know it and anyone may read it. */
  reasons?: Record<string, string>
}

/** The error of a check whose message `/readyz` shows. */
export class NotReadyError extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'NotReadyError'
  }
}

const limitMs = 2_000

/** Runs all checks concurrently, each for at most 2 s. */
export async function readiness(checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const reasons: Record<string, string> = {}
  const results = await Promise.all(
    checks.map(async ({ name, check }) => {
      const { ok, reason } = await outcomeOf(check)
      if (reason !== undefined) reasons[name] = reason
      return [name, ok] as const
    }),
  )
  return {
    ready: results.every(([, ok]) => ok),
    checks: Object.fromEntries(results.map(([name, ok]) => [name, ok ? 'ok' : 'failed'])),
    ...(Object.keys(reasons).length > 0 && { reasons }),
  }
}

const sharedForMs = 1_000

/**
 * Returns a check that runs at most once a second; concurrent callers share the result. For checks that send requests,
 * because anyone may call /readyz at any rate.
 */
export function sharedCheck({ name, check }: ReadinessCheck, clock: Clock = systemClock): ReadinessCheck {
  let shared: { result: Promise<{ ok: boolean; reason?: string }>; startedMs: number } | undefined
  return {
    name,
    async check() {
      if (!shared || clock() - shared.startedMs >= sharedForMs || clock() < shared.startedMs) {
        shared = { result: outcomeOf(check), startedMs: clock() }
      }
      const { ok, reason } = await shared.result
      if (!ok) throw reason === undefined ? new Error(`${name} is not ready`) : new NotReadyError(reason)
    },
  }
}

async function outcomeOf(check: () => Promise<void>): Promise<{ ok: boolean; reason?: string }> {
  try {
    return { ok: await resolvesWithin(check(), limitMs) }
  } catch (error) {
    return { ok: false, ...(error instanceof NotReadyError && { reason: error.message }) }
  }
}

/** A check that `GET /readyz` of at least one copy of an app returns 200. `baseUrls` are the addresses of its copies. */
export const httpReadiness = (name: string, baseUrls: readonly string[]): ReadinessCheck => ({
  name,
  check: () => Promise.any(baseUrls.map((baseUrl) => isReady(name, baseUrl))),
})

async function isReady(name: string, baseUrl: string): Promise<void> {
  const answer = await fetch(new URL('/readyz', baseUrl), { signal: AbortSignal.timeout(limitMs) })
  await answer.body?.cancel()
  if (answer.status !== 200) throw new Error(`${name} is not ready`)
}
