import type { Clock } from '#core/clock'
import type { Keyring } from '#fleet/crypto/keyring'
import type { WebhookSender } from '#fleet/webhooks/sender'
import type { Pool } from '#postgres/pool'

export type WebhookWorker = {
  pool: Pool
  keyring: Keyring
  sender: WebhookSender
  clock: Clock
  /** Returns a number from 0 to 1, by which the intervals between attempts vary. `Math.random` by default. */
  random?: () => number
}

/** The delivery of one event to one webhook, claimed for an attempt. */
export type DueDelivery = {
  id: string
  organizationId: string
  webhookId: string
  eventId: string
  type: string
  data: Record<string, unknown>
  /** Of this series: 1 for the first. */
  attempt: number
  firstAttemptAt: string
  createdAt: string
  url: string
  /** Those that sign it, the newest first. */
  sealedSecrets: Buffer[]
}
