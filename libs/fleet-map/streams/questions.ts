import type { EventStream, Listener } from '#fleet-map/streams/event-stream'

/** A query of open streams, whose results they share. */
export type Question = {
  key: string
  streams: Set<EventStream>
  isAsked: boolean
  /** True if a stream was opened while the question was being answered. */
  isAskedFor: boolean
  dueAtMs: number
  timer: NodeJS.Timeout | undefined
}

/** The questions of all open streams. */
export type Questions = {
  /** Adds a stream to the question that its listener asks now. */
  join(stream: EventStream): Question
  /** The question that a listener asks now, if a stream has asked it. */
  of(listener: Listener): Question | undefined
  /** Removes a stream from its questions, and those that nobody asks any more. */
  leave(stream: EventStream): void
  remove(question: Question): void
  /** The number of questions of the owner of a stream. */
  ofOwner(stream: EventStream): number
  size(): number
}

export const tickMs = 2_000

export function createQuestions(): Questions {
  const questions = new Map<string, Question>()
  const remove = (question: Question): void => {
    clearTimeout(question.timer)
    if (questions.get(question.key) === question) questions.delete(question.key)
  }
  return {
    remove,
    join(stream) {
      const key = keyOf(stream.listener)
      const question = questions.get(key) ?? newQuestion(key, stream.listener.ctx.clock())
      questions.set(key, question)
      question.streams.add(stream)
      return question
    },
    of: (listener) => questions.get(keyOf(listener)),
    leave(stream) {
      for (const question of questions.values()) {
        if (question.streams.delete(stream) && question.streams.size === 0 && !question.isAsked) remove(question)
      }
    },
    ofOwner: (stream) =>
      [...questions.values()].filter(({ streams: [some] }) => some && isSameOwner(some, stream)).length,
    size: () => questions.size,
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
export function keyOf({ ctx: { principal }, query: { since: _since, ...query } }: Listener): string {
  const readable = principal.platform
    ? 'all'
    : [...principal.grants].map(([organizationId, scopes]) => `${organizationId} ${scopes.has('fleet:read')}`).sort()
  return JSON.stringify([readable, query])
}

const isSameOwner = (a: EventStream, b: EventStream): boolean =>
  a.listener.ctx.principal.rateLimit.key === b.listener.ctx.principal.rateLimit.key
