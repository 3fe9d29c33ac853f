import { ServiceError } from '#core/errors'
import type { Principal } from '#fleet/access/principal'
import { maxWaitingEventBytes } from '#fleet-map/memory-limits'
import type { EventStream } from '#fleet-map/streams/event-stream'
import { lengthOf } from '#http/chunked-body'

/**
 * The number of streams that can be open in this process: for one principal, for all keys of one organization, and in
 * total. Clients that do not read are disconnected after `stalledMs`, and after `slowMs` while more than
 * `maxWaitingBytes` wait for all clients together.
 */
export type StreamLimits = {
  perPrincipal: number
  perOwner: number
  total: number
  stalledMs: number
  slowMs: number
  maxWaitingBytes: number
}

export const streamLimits: StreamLimits = {
  ...{ perPrincipal: 20, perOwner: 100, total: 1_000 },
  ...{ stalledMs: 60_000, slowMs: 5_000, maxWaitingBytes: maxWaitingEventBytes },
}

const retryAfterSeconds = 10

/** Throws 429 `too_many_streams` if the principal, its organization or the process has reached its limit. */
export function requireRoom(streams: ReadonlySet<EventStream>, principal: Principal, limits: StreamLimits): void {
  const open = [...streams].map(({ listener }) => listener.ctx.principal)
  const ofPrincipal = open.filter(({ id }) => id === principal.id).length
  const ofOwner = open.filter(({ rateLimit }) => rateLimit.key === principal.rateLimit.key).length
  if (ofPrincipal >= limits.perPrincipal) throw tooMany(limits.perPrincipal, 'for these credentials')
  if (ofOwner >= limits.perOwner) throw tooMany(limits.perOwner, 'for this organization')
  if (open.length >= limits.total) throw tooMany(limits.total, 'in total')
}

/** Disconnects clients that have stopped reading, and slow clients while too many bytes wait. */
export function dropStalled(streams: ReadonlySet<EventStream>, limits: StreamLimits): void {
  const waiting = [...streams]
    .filter((stream) => !stream.takesEvents())
    .sort((a, b) => a.idleSinceMs() - b.idleSinceMs())
  for (const stream of waiting) {
    const idleMs = stream.listener.ctx.clock() - stream.idleSinceMs()
    const isSlow = idleMs > limits.slowMs && stream.waiting() !== undefined
    if (idleMs > limits.stalledMs || (isSlow && bytesWaiting(streams) > limits.maxWaitingBytes)) stream.breakOff()
  }
}

/** Counts an event once even if it waits in several streams. */
function bytesWaiting(streams: ReadonlySet<EventStream>): number {
  let bytes = 0
  for (const event of new Set([...streams].map((stream) => stream.waiting()))) bytes += event ? lengthOf(event) : 0
  return bytes
}

function tooMany(limit: number, where: string): ServiceError {
  const detail = `${limit} streams are open ${where}, which is the limit. Close one, or retry in ${retryAfterSeconds} s.`
  return new ServiceError(429, 'too_many_streams', detail, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    members: { limit },
  })
}
