import { type Clock, systemClock } from '#core/clock'

/** One thing an app needs in order to do its work. Rejects, or takes longer than its time, when it is not there. */
export type ReadinessCheck = { name: string; check: () => Promise<void> }

export type Readiness = { ready: boolean; checks: Record<string, 'ok' | 'failed'> }

const limitMs = 2_000

/** Runs all checks side by side, each at most 2 s. */
export async function readiness(checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const results = await Promise.all(checks.map(async ({ name, check }) => [name, await passes(check)] as const))
  return {
    ready: results.every(([, ok]) => ok),
    checks: Object.fromEntries(results.map(([name, ok]) => [name, ok ? 'ok' : 'failed'])),
  }
}

const sharedForMs = 1_000

/**
 * The same check, run at most once a second: callers share the check that is under way and its result. For checks that
 * ask another process, since anybody may ask for readiness as often as they like.
 */
export function sharedCheck({ name, check }: ReadinessCheck, clock: Clock = systemClock): ReadinessCheck {
  let shared: { result: Promise<boolean>; startedMs: number } | undefined
  return {
    name,
    async check() {
      if (!shared || clock() - shared.startedMs >= sharedForMs || clock() < shared.startedMs) {
        shared = { result: passes(check), startedMs: clock() }
      }
      if (!(await shared.result)) throw new Error(`${name} is not ready`)
    },
  }
}

async function passes(check: () => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs)
  })
  try {
    return await Promise.race([check().then(() => true), late])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

/** A check that an app's own address answers `GET /readyz` with 200. */
export const httpReadiness = (name: string, baseUrl: string): ReadinessCheck => ({
  name,
  check: async () => {
    const answer = await fetch(new URL('/readyz', baseUrl), { signal: AbortSignal.timeout(limitMs) })
    await answer.body?.cancel()
    if (answer.status !== 200) throw new Error(`${name} is not ready`)
  },
})
