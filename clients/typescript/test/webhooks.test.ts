import { expect, test } from 'vitest'
import type { WebhookPayload } from '../src/index.ts'

/** A receiver, which the compiler lets read only what an event of the type has. */
function sentenceOf(event: WebhookPayload): string {
  switch (event.type) {
    case 'device.status_changed':
      return `${event.data.deviceId} is ${event.data.to}`
    case 'job.finished':
      return `${event.data.kind} ${event.data.status} at attempt ${event.data.attempt}`
    case 'alert.opened':
      return `${event.data.ruleName}: ${event.data.severity}`
    default:
      return event.type
  }
}

test('the type of an event decides what its data has', () => {
  const event: WebhookPayload = {
    type: 'device.status_changed',
    timestamp: '2026-05-04T12:30:00.000Z',
    organizationId: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
    data: { deviceId: 'bus', from: 'online', to: 'offline', reason: 'silent' },
  }
  expect(sentenceOf(event)).toBe('bus is offline')
})
