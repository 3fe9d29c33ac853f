import type { z } from 'zod'
import { newId } from '#core/ids'
import type { fleetEventSchemas } from '#fleet/events/payloads'
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

/** The events of these types, with the `data` that their schemas describe. */
export type EventsOf<Schemas extends { [Type in EventType]?: z.ZodType }> = {
  [Type in keyof Schemas & EventType]: {
    organizationId: string
    type: Type
    payload: z.output<Schemas[Type] & z.ZodType>
  }
}[keyof Schemas & EventType]

export type OutboxEvent = EventsOf<typeof fleetEventSchemas>

/**
 * Writes events to the outbox in the caller's transaction. Webhooks receive them after the commit. A library above this one names the
 * type of its events.
 */
export async function publishEvents<
  Event extends { organizationId: string; type: EventType; payload: object } = OutboxEvent,
>(connection: Queryable, events: readonly NoInfer<Event>[]): Promise<void> {
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
