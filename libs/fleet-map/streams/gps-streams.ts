import type { Principal } from '#fleet/access/principal'
import type { FleetSources } from '#fleet-map/fleet-sources'
import { createEventStream, type EventStream, type Listener } from '#fleet-map/streams/event-stream'
import { errorEvent, sendChanges, silenceMs } from '#fleet-map/streams/gps-events'
import { dropStalled, requireRoom, type StreamLimits, streamLimits } from '#fleet-map/streams/stream-limits'
import type { Readers } from '#questdb/copies/readers'

export type GpsStreams = {
  /** Throws 429 `too_many_streams` if the principal cannot open another stream. */
  checkRoom(principal: Principal): void
  /**
   * Server-sent events: one `snapshot`, or a `delta` if `query.since` is set, then a `delta` for each change. The id of an
   * event is its `asOf`. The listener is authenticated again before each event; if that fails, the stream ends with an
   * `error` event. Throws 429 `too_many_streams` if a limit is reached.
   */
  open(listener: Listener): ReadableStream<Uint8Array>
  /** The number of open streams. */
  size(): number
  /** The number of different queries of the open streams. Streams with the same query share its results. */
  questions(): number
}

type Question = {
  key: string
  streams: Set<EventStream>
  isAsked: boolean
  /** True if a stream was opened while the question was being answered. */
  isAskedFor: boolean
  dueAtMs: number
  timer: NodeJS.Timeout | undefined
}

type Sources = { fleet: FleetSources; readers: Readers; limits?: StreamLimits }

const tickMs = 2_000
// All questions of one owner together use at most this share of the time, so many questions are asked less often.
const ownerShare = 0.1

/** Answers each question once for all streams that ask it. */
export function createGpsStreams({ fleet, readers, limits = streamLimits }: Sources): GpsStreams {
  const streams = new Set<EventStream>()
  const questions = new Map<string, Question>()

  const schedule = (question: Question, nowMs: number): void => {
    clearTimeout(question.timer)
    const waitMs = Math.max(0, question.dueAtMs - nowMs)
    // A question that is asked less often still checks its listeners as often.
    const next = waitMs > tickMs ? () => check(question) : () => ask(question, false)
    question.timer = setTimeout(next, Math.min(waitMs, tickMs)).unref()
  }

  /** Authenticates the listeners again without an answer. */
  const check = async (question: Question): Promise<void> => {
    const [first] = question.streams
    await Promise.all([...question.streams].map((stream) => admit(question, stream)))
    if (question.isAsked) return
    if (question.streams.size === 0) remove(question)
    else schedule(question, (first?.listener.ctx.clock ?? Date.now)())
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
      await sendChanges(fleet, readers, first.listener, listening)
    } catch (error) {
      for (const stream of listening) stream.end(errorEvent(error))
    }
  }

  /** Authenticates a listener again. Moves its stream to another question if its access has changed. */
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
    // Send a snapshot, because the client may have data that it can no longer read.
    stream.since = undefined
    ask(join(stream), false)
  }

  const checkRoom = (principal: Principal): void => requireRoom(streams, principal, limits)

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

/** Identifies a question: equal for all listeners that can share its results. */
function keyOf({ ctx: { principal }, query: { since: _since, ...query } }: Listener): string {
  const readable = principal.platform
    ? 'all'
    : [...principal.grants].map(([organizationId, scopes]) => `${organizationId} ${scopes.has('fleet:read')}`).sort()
  return JSON.stringify([readable, query])
}

const isSameOwner = (a: EventStream, b: EventStream): boolean =>
  a.listener.ctx.principal.rateLimit.key === b.listener.ctx.principal.rateLimit.key
