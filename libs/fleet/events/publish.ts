import { newId } from '#core/ids'
import type { Queryable } from '#postgres/pool'

/** Event types that webhooks can subscribe to. */
export const eventTypes = [
  'device.status_changed',
  'device.created',
  'device.deleted',
  'device.transferred',
  'job.finished',
  'job_batch.finished',
  'dwell.started',
  'dwell.ended',
  'quota.reached',
  'alert.opened',
  'alert.closed',
] as const

export type EventType = (typeof eventTypes)[number]

export type OutboxEvent = { organizationId: string; type: EventType; payload: Record<string, unknown> }

/** Writes events to the outbox in the caller's transaction. Webhooks receive them after the commit. */
export async function publishEvents(connection: Queryable, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return
  await connection.query(
    `INSERT INTO outbox_event (id, organization_id, type, payload)
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::jsonb[])`,
    [
      events.map(() => newId()),
      events.map((event) => event.organizationId),
      events.map((event) => event.type),
      events.map((event) => JSON.stringify(event.payload)),
    ],
  )
}
