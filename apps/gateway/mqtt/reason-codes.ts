import type { Delivered } from '../delivery.ts'

// Reason codes of MQTT 5, section 3.4.2.1. With MQTT 3.1.1 they are not sent.
export const success = 0x00
export const unspecified = 0x80
export const invalidTopic = 0x90
const notAuthorized = 0x87
const quotaExceeded = 0x97
const invalidPayload = 0x99

/** Returns how a message is acknowledged whose report the service has answered. */
export function reasonCodeOf({ outcome, answer: { status } }: Delivered): number {
  if (outcome === 'accepted') return success
  if (status === 402 || status === 403 || status === 404) return notAuthorized
  if (status === 429) return quotaExceeded
  return status === 413 ? unspecified : invalidPayload
}
