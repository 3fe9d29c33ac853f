import { holds, type Principal } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { type EventType, eventTypes } from '#fleet/events/publish'

/** The scope that opens the data of each event. */
const scopeOfEvent: Record<EventType, Scope> = {
  'device.status_changed': 'device:read',
  'device.created': 'device:read',
  'device.deleted': 'device:read',
  'device.transferred': 'device:read',
  'job.finished': 'job:read',
  'job_batch.finished': 'job:read',
  'dwell.started': 'fleet:read',
  'dwell.ended': 'fleet:read',
  'quota.reached': 'org:read',
  'alert.opened': 'alert:read',
  'alert.closed': 'alert:read',
}

/** The scopes for a webhook with these events: nobody may send elsewhere what it cannot read. */
export const scopesOfEvents = (events: readonly EventType[]): Scope[] => [
  ...new Set(events.map((type) => scopeOfEvent[type])),
]

/** The types of events whose data the principal can read. */
export const readableEvents = (principal: Principal, organizationId: string): EventType[] =>
  eventTypes.filter((type) => holds(principal, organizationId, scopeOfEvent[type]))
