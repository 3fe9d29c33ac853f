import { pause } from '#core/schedule'
import type { ServiceAnswer } from './service-client.ts'

/** What became of a call. `refused`: the service will not accept it however often it is repeated. */
export type Delivered = { outcome: 'accepted' | 'refused'; answer: ServiceAnswer }

export type ServiceCall = (signal: AbortSignal) => Promise<ServiceAnswer>

export type Delivery = {
  /**
   * Calls until the service has answered for good, with pauses. Returns undefined if `signal` aborts first; the call may then
   * have been accepted. With `endsOverRate`, also returns when the device is over its rate.
   */
  deliver(call: ServiceCall, signal: AbortSignal, endsOverRate?: boolean): Promise<Delivered | undefined>
  /** Returns why the last call was not answered for good; undefined if it was. */
  problem(): string | undefined
  retries(): number
}

const firstPauseMs = 250
const longestPauseMs = 10_000
/** Answers that another attempt can change: the key can be replaced, and a limit passes. */
const temporary = (status: number): boolean => status === 401 || status === 408 || status === 429 || status >= 500

/** Creates the delivery of calls to the service. */
export function createDelivery(): Delivery {
  let problem: string | undefined
  let retries = 0

  async function attempt(call: ServiceCall, signal: AbortSignal) {
    try {
      return await call(signal)
    } catch (error) {
      if (!signal.aborted) problem = `The service does not answer: ${codeOf(error)}.`
      return undefined
    }
  }

  return {
    async deliver(call, signal, endsOverRate = false) {
      for (let tried = 0; !signal.aborted; tried += 1) {
        const answer = await attempt(call, signal)
        if (answer && (!temporary(answer.status) || (endsOverRate && answer.isOverRate))) {
          problem = undefined
          return { outcome: answer.status < 300 ? 'accepted' : 'refused', answer }
        }
        // One device over its rate says nothing about the service.
        if (answer && answer.status !== 429) problem = `The service answers with status ${answer.status}.`
        retries += 1
        const doubledMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(tried, 10))
        const least = Math.min(longestPauseMs, answer?.retryAfterMs ?? 0)
        await pause(Math.max(least, doubledMs) * (0.75 + Math.random() / 2), signal)
      }
      return undefined
    },
    problem: () => problem,
    retries: () => retries,
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no connection'

/**
 * Returns how a report ended, with the code of its refusal. A report of which the service has stored nothing is refused, also
 * if the answer is a success that lists rejected samples.
 */
export function outcomeOf(delivered: Delivered | undefined): {
  outcome: 'accepted' | 'refused' | 'abandoned'
  reason: string
} {
  if (!delivered) return { outcome: 'abandoned', reason: '' }
  const { status, body } = delivered.answer
  const members: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {}
  if (delivered.outcome === 'refused') {
    return { outcome: 'refused', reason: typeof members.code === 'string' ? members.code : `status_${status}` }
  }
  if (members.accepted !== 0) return { outcome: 'accepted', reason: '' }
  const [first] = Array.isArray(members.rejected) ? members.rejected : []
  return { outcome: 'refused', reason: typeof first?.code === 'string' ? first.code : 'nothing_accepted' }
}
