import { lookup as resolve } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent } from 'undici'
import { type ReachableAddresses, reachableAddresses } from '#core/public-address'
import { version } from '#core/version'

export type GuardedPostOptions = {
  /** The addresses that may be connected to. Default: those on the public Internet. */
  reachable?: ReachableAddresses
  /** Trusted CA certificates instead of the default ones. */
  ca?: string | undefined
  timeoutMs?: number
}

type PostedJson = { url: string; headers?: Record<string, string>; body: string }

/** `reason` is short and does not quote the receiver. `status` and `retryAfter`: those of the response, if there was one. */
export type PostOutcome =
  | { delivered: true }
  | { delivered: false; reason: string; status?: number; retryAfter?: string | undefined }

/** Posts JSON to URLs that callers of the API chose. */
export type GuardedPost = { post(request: PostedJson): Promise<PostOutcome>; close(): Promise<void> }

/** Firewalls of receivers may compare it, so it changes with the major version only. */
const userAgent = `routerfleet-webhooks/${version.split('.')[0]}`

class RefusedAddress extends Error {}

/**
 * Creates a sender over https. Checks the resolved address when connecting, so that DNS rebinding cannot reach other addresses.
 * Does not follow redirects. A response of 2xx is a success.
 */
export function createGuardedPost({
  reachable = reachableAddresses([]),
  ca,
  timeoutMs = 15_000,
}: GuardedPostOptions = {}): GuardedPost {
  const agent = new Agent({
    connect: { lookup: guardedLookup(reachable), timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: 5_000,
    pipelining: 1,
  })
  return {
    async post({ url, headers, body }) {
      const { origin, pathname, search, hostname, protocol } = new URL(url)
      const host = hostname.replace(/^\[|\]$/g, '')
      // For a literal address there is no lookup, so it is checked here.
      if (protocol !== 'https:' || (isIP(host) !== 0 && !reachable.includes(host))) return refused
      try {
        const answer = await agent.request({
          origin,
          path: pathname + search,
          method: 'POST',
          headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...headers },
          body,
          signal: AbortSignal.timeout(timeoutMs),
        })
        answer.body.on('error', () => {}).destroy()
        const { statusCode: status } = answer
        if (status >= 200 && status < 300) return { delivered: true }
        const retryAfter = [answer.headers['retry-after']].flat()[0]
        return { delivered: false, reason: `the receiver responded with ${status}`, status, retryAfter }
      } catch (error) {
        return causes(error).some((cause) => cause instanceof RefusedAddress) ? refused : failed(error)
      }
    },
    close: () => agent.close(),
  }
}

const refused: PostOutcome = { delivered: false, reason: 'the address is not on the public Internet' }

const failed = (error: unknown): PostOutcome => {
  const code = causes(error).map((cause) => (cause instanceof Error && 'code' in cause ? cause.code : undefined))
  return { delivered: false, reason: `the receiver could not be reached (${code.find(Boolean) ?? 'timeout'})` }
}

const causes = (error: unknown): unknown[] =>
  error instanceof Error && error.cause !== undefined ? [error, ...causes(error.cause)] : [error]

const guardedLookup =
  ({ includes }: ReachableAddresses): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const first = addresses?.[0]
      if (error || !first) return callback(error ?? new Error('no address'), '', 4)
      if (!addresses.every(({ address }) => includes(address))) return callback(new RefusedAddress(), '', 4)
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }
