import { createHmac } from 'node:crypto'
import { lookup as resolve } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent } from 'undici'
import { type ReachableAddresses, reachableAddresses } from '#core/public-address'

/** A message. `id` is the same for every attempt, so that the receiver can ignore duplicates. */
type WebhookMessage = { id: string; url: string; secret: string; body: string; timestampS: number }

/** `reason` is short and does not quote the receiver. `gone`: the receiver responded with 410. */
export type WebhookOutcome = { delivered: true } | { delivered: false; reason: string; gone: boolean }

export type WebhookSender = { send(message: WebhookMessage): Promise<WebhookOutcome>; close(): Promise<void> }

type SenderOptions = {
  /** The addresses that may be connected to. Default: those on the public Internet. */
  reachable?: ReachableAddresses
  /** Trusted CA certificates instead of the default ones. */
  ca?: string | undefined
  timeoutMs?: number
}

class RefusedAddress extends Error {}

/** The signature of Standard Webhooks: HMAC-SHA256 of id, timestamp and body with the base64 key after `whsec_`. */
export function signWebhook({ id, timestampS, body, secret }: WebhookMessage): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`
}

/**
 * Creates a sender of webhooks over https. Checks the resolved address when connecting, so that DNS rebinding cannot reach
 * other addresses. Does not follow redirects.
 */
export function createWebhookSender({
  reachable = reachableAddresses([]),
  ca,
  timeoutMs = 15_000,
}: SenderOptions = {}): WebhookSender {
  const agent = new Agent({
    connect: { lookup: guardedLookup(reachable), timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: 5_000,
    pipelining: 1,
  })
  return {
    async send(message) {
      const { origin, pathname, search, hostname, protocol } = new URL(message.url)
      const host = hostname.replace(/^\[|\]$/g, '')
      // For a literal address there is no lookup, so it is checked here.
      if (protocol !== 'https:' || (isIP(host) !== 0 && !reachable.includes(host))) return refused
      try {
        const answer = await agent.request({
          origin,
          path: pathname + search,
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'user-agent': 'routerfleet-webhooks/1',
            'webhook-id': message.id,
            'webhook-timestamp': String(message.timestampS),
            'webhook-signature': signWebhook(message),
          },
          body: message.body,
          signal: AbortSignal.timeout(timeoutMs),
        })
        answer.body.on('error', () => {}).destroy()
        if (answer.statusCode >= 200 && answer.statusCode < 300) return { delivered: true }
        return {
          delivered: false,
          reason: `the receiver responded with ${answer.statusCode}`,
          gone: answer.statusCode === 410,
        }
      } catch (error) {
        return causes(error).some((cause) => cause instanceof RefusedAddress) ? refused : failed(error)
      }
    },
    close: () => agent.close(),
  }
}

const refused: WebhookOutcome = { delivered: false, reason: 'the address is not on the public Internet', gone: false }

const failed = (error: unknown): WebhookOutcome => {
  const code = causes(error).map((cause) => (cause instanceof Error && 'code' in cause ? cause.code : undefined))
  return {
    delivered: false,
    reason: `the receiver could not be reached (${code.find(Boolean) ?? 'timeout'})`,
    gone: false,
  }
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
