import { createHmac } from 'node:crypto'
import { createGuardedPost, type GuardedPostOptions } from '#fleet/webhooks/guarded-post'

/** A message. `id` is the same for every attempt, so that the receiver can ignore duplicates. */
type WebhookMessage = { id: string; url: string; secret: string; body: string; timestampS: number }

/** `reason` is short and does not quote the receiver. `gone`: the receiver responded with 410. */
export type WebhookOutcome = { delivered: true } | { delivered: false; reason: string; gone: boolean }

export type WebhookSender = { send(message: WebhookMessage): Promise<WebhookOutcome>; close(): Promise<void> }

/** The signature of Standard Webhooks: HMAC-SHA256 of id, timestamp and body with the base64 key after `whsec_`. */
export function signWebhook({ id, timestampS, body, secret }: WebhookMessage): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`
}

/** Creates a sender of signed webhooks, with the checks of `createGuardedPost`. */
export function createWebhookSender(options: GuardedPostOptions = {}): WebhookSender {
  const guarded = createGuardedPost(options)
  return {
    async send(message) {
      const outcome = await guarded.post({
        url: message.url,
        headers: {
          'webhook-id': message.id,
          'webhook-timestamp': String(message.timestampS),
          'webhook-signature': signWebhook(message),
        },
        body: message.body,
      })
      if (outcome.delivered) return outcome
      return { delivered: false, reason: outcome.reason, gone: outcome.status === 410 }
    },
    close: () => guarded.close(),
  }
}
