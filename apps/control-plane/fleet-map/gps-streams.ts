import { ServiceError } from '#core/errors'
import type { Principal } from '#fleet/access/principal'
import { maxWaitingEventBytes } from '#fleet-map/memory-limits'
import { type Chunks, collect, lengthOf } from '#http/chunked-body'
import { jsonChunks } from '#http/json-chunks'
import type { Readers } from '#questdb/readers'
import { createEventStream, type EventStream, type Listener } from './event-stream.ts'
import type { FleetSources } from './fleet-sources.ts'
import { readGpsSince } from './gps.ts'
import { gpsBody } from './gps-formats.ts'
import { openGps, sinceRequest } from './gps-request.ts'

/**
 * How many streams may be open in this process: for one principal, for the keys of one organization, and in all. Clients
 * are disconnected that take no event for `stalledMs`, and for `slowMs` while more than `maxWaitingBytes` wait.
 */
export type StreamLimits = {
  perPrincipal: number
  perOwner: number
  total: number
  stalledMs: number
  slowMs: number
  maxWaitingBytes: number
}

export type GpsStreams = {
  /** Throws 429 `too_many_streams` when as many streams are open as a principal may have. Costs nothing else. */
  checkRoom(principal: Principal): void
  /**
   * Server-sent events: one `snapshot`, or from `query.since` on at once a `delta` whenever something changed; the event's
   * id is its `asOf`. The listener is authenticated again before each event: a refusal ends the stream with an `error`
   * event. Throws 429 `too_many_streams` when as many are open as may be.
   */
  open(listener: Listener): ReadableStream<Uint8Array>
  /** How many streams are open. */
  size(): number
  /** How many different questions they ask. Streams with the same question share its answers. */
  questions(): number
}

type Question = {
  key: string
  streams: Set<EventStream>
  isAsked: boolean
  /** A stream was opened while the question was asked. */
  isAskedFor: boolean
  dueAtMs: number
  timer: NodeJS.Timeout | undefined
}

type Sources = { fleet: FleetSources; readers: Readers; limits?: StreamLimits }

export const streamLimits: StreamLimits = {
  ...{ perPrincipal: 20, perOwner: 100, total: 1_000 },
  ...{ stalledMs: 60_000, slowMs: 5_000, maxWaitingBytes: maxWaitingEventBytes },
}
const retryAfterSeconds = 10
const tickMs = 2_000
// Proxies close what stays silent; a comment is no event.
const silenceMs = 15_000
// All questions of one owner together take at most this share of the time: many of them are asked less often.
const ownerShare = 0.1

/** Answers each question once for all streams that ask it. */
export function createGpsStreams({ fleet, readers, limits = streamLimits }: Sources): GpsStreams {
  const streams = new Set<EventStream>()
  const questions = new Map<string, Question>()

  const schedule = (question: Question, nowMs: number): void => {
    clearTimeout(question.timer)
    question.timer = setTimeout(() => ask(question, false), Math.max(0, question.dueAtMs - nowMs)).unref()
  }

  const ask = async (question: Question, onlyNew: boolean): Promise<void> => {
    if (question.isAsked) {
      question.isAskedFor = true
      return
    }
    question.isAsked = true
    const [first] = question.streams
    const clock = first?.listener.ctx.clock ?? Date.now
    const startedMs = clock()
    await answer(question, onlyNew)
    question.isAsked = false
    const endedMs = clock()
    if (!onlyNew && first) {
      const ownerQuestions = [...questions.values()].filter(
        ({ streams: [some] }) => some && isSameOwner(some, first),
      ).length
      const pauseMs = ((endedMs - startedMs) * ownerQuestions) / ownerShare
      question.dueAtMs = endedMs + Math.min(silenceMs, Math.max(tickMs, pauseMs))
    }
    if (question.streams.size === 0) remove(question)
    else if (question.isAskedFor) {
      question.isAskedFor = false
      ask(question, true)
    } else schedule(question, endedMs)
  }

  const remove = (question: Question): void => {
    clearTimeout(question.timer)
    if (questions.get(question.key) === question) questions.delete(question.key)
  }

  const join = (stream: EventStream): Question => {
    const key = keyOf(stream.listener)
    const question = questions.get(key) ?? newQuestion(key, stream.listener.ctx.clock())
    questions.set(key, question)
    question.streams.add(stream)
    return question
  }

  const answer = async (question: Question, onlyNew: boolean): Promise<void> => {
    const asked = [...question.streams].filter(({ sentAtMs }) => !onlyNew || sentAtMs() === 0)
    await Promise.all(asked.map((stream) => admit(question, stream)))
    dropStalled(streams, limits)
    const listening = asked.filter((stream) => question.streams.has(stream) && stream.takesEvents())
    const [first] = listening
    if (!first) return
    try {
      await sendNews(fleet, readers, first.listener, listening)
    } catch (error) {
      for (const stream of listening) stream.end(errorEvent(error))
    }
  }

  /** Authenticates a listener again. One who may see more or less than before asks another question. */
  const admit = async (question: Question, stream: EventStream): Promise<void> => {
    const { listener } = stream
    try {
      listener.ctx = { ...listener.ctx, principal: await listener.stillAllowed() }
    } catch (error) {
      if (stream.takesEvents()) stream.end(errorEvent(error))
      else stream.breakOff()
      return
    }
    if (!question.streams.has(stream) || keyOf(listener) === question.key) return
    question.streams.delete(stream)
    // A snapshot replaces what the client has, of which it may not see some any longer.
    stream.since = undefined
    ask(join(stream), false)
  }

  const checkRoom = (principal: Principal): void => {
    const open = [...streams].map(({ listener }) => listener.ctx.principal)
    const ofPrincipal = open.filter(({ id }) => id === principal.id).length
    const ofOwner = open.filter(({ rateLimit }) => rateLimit.key === principal.rateLimit.key).length
    if (ofPrincipal >= limits.perPrincipal) throw tooMany(limits.perPrincipal, 'for these credentials')
    if (ofOwner >= limits.perOwner) throw tooMany(limits.perOwner, 'for this organization')
    if (open.length >= limits.total) throw tooMany(limits.total, 'in all')
  }

  return {
    checkRoom,
    open(listener) {
      checkRoom(listener.ctx.principal)
      const stream = createEventStream(listener, {
        onReady(ready) {
          if (ready.sentAtMs() > 0) return
          const question = questions.get(keyOf(listener))
          if (question?.streams.has(ready)) ask(question, true)
        },
        onClose(closed) {
          streams.delete(closed)
          for (const question of questions.values()) {
            if (question.streams.delete(closed) && question.streams.size === 0 && !question.isAsked) remove(question)
          }
        },
      })
      streams.add(stream)
      join(stream)
      return stream.body
    },
    size: () => streams.size,
    questions: () => questions.size,
  }
}

const newQuestion = (key: string, nowMs: number): Question => ({
  key,
  streams: new Set(),
  isAsked: false,
  isAskedFor: false,
  dueAtMs: nowMs + tickMs,
  timer: undefined,
})

/** Sends each stream what is new to it. Streams that have seen the same get the same bytes. */
async function sendNews(
  fleet: Sources['fleet'],
  readers: Readers,
  { ctx, query }: Listener,
  streams: readonly EventStream[],
): Promise<void> {
  const request = await openGps(ctx, { ...query, since: undefined })
  const bySince = [...Map.groupBy(streams, ({ since }) => since)]
  const requests = bySince.map(([since]) => sinceRequest(request, since))
  const pictures = await readGpsSince(ctx, fleet, readers.of(ctx.principal.rateLimit.key), requests)
  const encoder = new TextEncoder()
  for (const [index, picture] of pictures.entries()) {
    const [since, group = []] = bySince[index] ?? []
    const { selection, coverage, dwells, gone, asOf } = picture
    const isDelta = since !== undefined
    const isSilent = isDelta && selection.devices.length + coverage.length + dwells.length + gone.length === 0
    const event = isSilent
      ? undefined
      : await eventOf(isDelta ? 'delta' : 'snapshot', asOf, await gpsBody(picture, sinceRequest(request, since), null))
    for (const stream of group) {
      if (!stream.takesEvents()) continue
      stream.since = asOf
      if (event) stream.send(event)
      else if (ctx.clock() - stream.sentAtMs() > silenceMs) stream.send([encoder.encode(': still here\n\n')])
    }
  }
}

/** An event whose data is JSON, in chunks that all streams share. */
const eventOf = (name: string, id: string, data: unknown): Promise<Chunks> =>
  collect(jsonChunks(data, { before: `event: ${name}\nid: ${id}\ndata: `, after: '\n\n' }))

/** Disconnects clients that stopped reading, and slow ones while too much waits for all together. */
function dropStalled(streams: ReadonlySet<EventStream>, limits: StreamLimits): void {
  const waiting = [...streams]
    .filter((stream) => !stream.takesEvents())
    .sort((a, b) => a.idleSinceMs() - b.idleSinceMs())
  for (const stream of waiting) {
    const idleMs = stream.listener.ctx.clock() - stream.idleSinceMs()
    const isSlow = idleMs > limits.slowMs && stream.waiting() !== undefined
    if (idleMs > limits.stalledMs || (isSlow && bytesWaiting(streams) > limits.maxWaitingBytes)) stream.breakOff()
  }
}

/** Events that were sent to several streams are in memory once. */
function bytesWaiting(streams: ReadonlySet<EventStream>): number {
  let bytes = 0
  for (const event of new Set([...streams].map((stream) => stream.waiting()))) bytes += event ? lengthOf(event) : 0
  return bytes
}

/** What a listener may see and wants to see; equal for all who can share an answer. */
function keyOf({ ctx: { principal }, query: { since: _since, ...query } }: Listener): string {
  const readable = principal.platform
    ? 'all'
    : [...principal.grants].map(([organizationId, scopes]) => `${organizationId} ${scopes.has('fleet:read')}`).sort()
  return JSON.stringify([readable, query])
}

const isSameOwner = (a: EventStream, b: EventStream): boolean =>
  a.listener.ctx.principal.rateLimit.key === b.listener.ctx.principal.rateLimit.key

function tooMany(limit: number, where: string): ServiceError {
  const detail = `${limit} streams are open ${where}, which is the limit. Close one, or retry in ${retryAfterSeconds} s.`
  return new ServiceError(429, 'too_many_streams', detail, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    members: { limit },
  })
}

function errorEvent(error: unknown): Chunks {
  const { code, message } =
    error instanceof ServiceError
      ? error
      : { code: 'unavailable', message: 'Service temporarily unavailable. Retry later.' }
  return [new TextEncoder().encode(`event: error\ndata: ${JSON.stringify({ code, detail: message })}\n\n`)]
}
