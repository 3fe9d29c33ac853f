import type { Clock } from '#core/clock'
import type { Principal } from '#fleet/access/principal'
import type { GpsSources } from '#fleet-map/gps/gps-sources'
import { createEventStream, type EventStream, type Listener } from '#fleet-map/streams/event-stream'
import { errorEvent, sendChanges, silenceMs } from '#fleet-map/streams/gps-events'
import { createQuestions, keyOf, type Question, tickMs } from '#fleet-map/streams/questions'
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

type Sources = { fleet: GpsSources; readers: Readers; limits?: StreamLimits }

// All questions of one owner together use at most this share of the time, so many questions are asked less often.
const ownerShare = 0.1

/** Answers each question once for all streams that ask it. */
export function createGpsStreams({ fleet, readers, limits = streamLimits }: Sources): GpsStreams {
  const streams = new Set<EventStream>()
  const questions = createQuestions()

  const schedule = (question: Question, nowMs: number): void => {
    if (question.streams.size === 0) {
      questions.remove(question)
      return
    }
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
    if (!question.isAsked) schedule(question, clockOf(first)())
  }

  const ask = async (question: Question, onlyNew: boolean): Promise<void> => {
    if (question.isAsked) {
      question.isAskedFor = true
      return
    }
    question.isAsked = true
    const [first] = question.streams
    const clock = clockOf(first)
    const startedMs = clock()
    const asked = [...question.streams].filter(({ sentAtMs }) => !onlyNew || sentAtMs() === 0)
    await Promise.all(asked.map((stream) => admit(question, stream)))
    dropStalled(streams, limits)
    await answer({ fleet, readers }, question, asked)
    question.isAsked = false
    const endedMs = clock()
    if (!onlyNew && first) {
      const pauseMs = ((endedMs - startedMs) * questions.ofOwner(first)) / ownerShare
      question.dueAtMs = endedMs + Math.min(silenceMs, Math.max(tickMs, pauseMs))
    }
    if (question.isAskedFor && question.streams.size > 0) {
      question.isAskedFor = false
      ask(question, true)
    } else schedule(question, endedMs)
  }

  /** Authenticates the listener of a stream again. Moves the stream to another question if its access has changed. */
  const admit = async (question: Question, stream: EventStream): Promise<void> => {
    if (!(await isStillAllowed(stream)) || !question.streams.has(stream)) return
    if (keyOf(stream.listener) === question.key) return
    question.streams.delete(stream)
    // Send a snapshot, because the client may have data that it can no longer read.
    stream.since = undefined
    ask(questions.join(stream), false)
  }

  return {
    checkRoom: (principal) => requireRoom(streams, principal, limits),
    open(listener) {
      requireRoom(streams, listener.ctx.principal, limits)
      const stream = createEventStream(listener, {
        onReady(ready) {
          const question = questions.of(listener)
          if (ready.sentAtMs() === 0 && question?.streams.has(ready)) ask(question, true)
        },
        onClose(closed) {
          streams.delete(closed)
          questions.leave(closed)
        },
      })
      streams.add(stream)
      questions.join(stream)
      return stream.body
    },
    size: () => streams.size,
    questions: questions.size,
  }
}

/** Sends streams the changes since their last event, or the error. */
async function answer({ fleet, readers }: Sources, question: Question, asked: readonly EventStream[]): Promise<void> {
  const listening = asked.filter((stream) => question.streams.has(stream) && stream.takesEvents())
  const [first] = listening
  if (!first) return
  await sendChanges(fleet, readers, first.listener, listening).catch((error) => {
    for (const stream of listening) stream.end(errorEvent(error))
  })
}

/** Authenticates the listener of a stream again. Ends the stream if that fails. */
async function isStillAllowed(stream: EventStream): Promise<boolean> {
  const { listener } = stream
  try {
    listener.ctx = { ...listener.ctx, principal: await listener.stillAllowed() }
    return true
  } catch (error) {
    if (stream.takesEvents()) stream.end(errorEvent(error))
    else stream.breakOff()
    return false
  }
}

const clockOf = (stream: EventStream | undefined): Clock => stream?.listener.ctx.clock ?? Date.now
