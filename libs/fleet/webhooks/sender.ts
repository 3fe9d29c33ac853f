import { createHmac } from 'node:crypto'
import { createGuardedPost, type GuardedPostOptions, type PostOutcome } from '#fleet/webhooks/guarded-post'

type SignedContent = { id: string; body: string; timestampS: number }

/**
 * A message. `id` is the same for every attempt, so that the receiver can ignore duplicates. Each of `secrets` signs it, the
 * newest first.
 */
type WebhookMessage = SignedContent & { url: string; secrets: readonly string[] }

export type WebhookSender = { send(message: WebhookMessage): Promise<PostOutcome>; close(): Promise<void> }

/** The signature of Standard Webhooks: HMAC-SHA256 of id, timestamp and body with the base64 key after `whsec_`. */
export function signWebhook({ id, timestampS, body }: SignedContent, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`
}

/** Creates a sender of signed webhooks, with the checks of `createGuardedPost`. */
export function createWebhookSender(options: GuardedPostOptions = {}): WebhookSender {
  const guarded = createGuardedPost(options)
  return {
    send: (message) =>
      guarded.post({
        url: message.url,
        headers: {
          'webhook-id': message.id,
          'webhook-timestamp': String(message.timestampS),
          'webhook-signature': message.secrets.map((secret) => signWebhook(message, secret)).join(' '),
        },
        body: message.body,
      }),
    close: () => guarded.close(),
  }
}
