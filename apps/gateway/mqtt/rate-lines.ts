import { pause } from '#core/schedule'
import type { Delivered, Delivery, ServiceCall } from '../delivery.ts'
import type { ServiceAnswer } from '../service-client.ts'

type Size = { messages: number; bytes: number }

export type RateLines = {
  /**
   * Delivers a message of `owner`, a device. While the device is over its rate, its messages wait in order. Returns undefined
   * if `signal` aborts first. Refuses a message with 429 if there is no room for it.
   */
  deliver(message: {
    owner: string
    bytes: number
    call: ServiceCall
    signal: AbortSignal
  }): Promise<Delivered | undefined>
  /** Returns the number of messages that wait because of the rate of their device. */
  waiting(): number
}

type Waiting = {
  bytes: number
  call: ServiceCall
  signal: AbortSignal
  resolve(delivered: Delivered | undefined): void
}

/** The messages of a device that is over its rate, oldest first. `answer`: the last one that said so. */
type Line = { waiting: Waiting[]; bytes: number; answer: ServiceAnswer; readyAtMs: number }

/** The pause of a device whose response has no `Retry-After`. */
const defaultPauseMs = 1_000
/** How long after its pause a device counts as over its rate, unless the service says so again. */
const confirmedForMs = 10_000

/**
 * Lets the messages of devices over their rate wait, within `room`. When there is no room, the device that uses the most of
 * it loses its newest message: a device that floods cannot keep the room from others. Only the first message of a line is
 * sent again, so that a flood causes few requests.
 */
export function createRateLines(delivery: Delivery, room: Size, nowMs: () => number): RateLines {
  const lines = new Map<string, Line>()
  const held: Size = { messages: 0, bytes: 0 }

  const change = (line: Line, messages: number, bytes: number) => {
    line.bytes += bytes
    held.messages += messages
    held.bytes += bytes
  }
  /** The part of the room that messages use, 0 to 1. */
  const part = ({ messages, bytes }: Size) => Math.max(messages / room.messages, bytes / room.bytes)
  const partOf = ({ waiting, bytes }: Line) => part({ messages: waiting.length, bytes })

  /** While the service does not answer, messages are kept: it may accept them afterwards. */
  const isOverRate = ({ readyAtMs }: Line) => nowMs() < readyAtMs + confirmedForMs

  /** Returns whether a message may join the line. Refuses messages of other lines that use more of the room. */
  function makeRoom(own: Line, bytes: number): boolean {
    while (isOverRate(own) && part({ messages: held.messages + 1, bytes: held.bytes + bytes }) > 1) {
      const ownPart = part({ messages: own.waiting.length + 1, bytes: own.bytes + bytes })
      const largest = [...lines.values()].reduce((most, line) => (partOf(line) > partOf(most) ? line : most))
      // The first message of a line can be on its way.
      if (partOf(largest) <= ownPart || largest.waiting.length < 2 || !isOverRate(largest)) return false
      const newest = largest.waiting.pop()
      if (!newest) return false
      change(largest, -1, -newest.bytes)
      newest.resolve({ outcome: 'refused', answer: largest.answer })
    }
    return true
  }

  function postpone(line: Line, answer: ServiceAnswer): void {
    line.answer = answer
    line.readyAtMs = nowMs() + (answer.retryAfterMs ?? defaultPauseMs)
  }

  async function empty(owner: string, line: Line): Promise<void> {
    for (let [first] = line.waiting; first; [first] = line.waiting) {
      const { call, signal, bytes } = first
      await pause(Math.max(0, line.readyAtMs - nowMs()), signal)
      const delivered = await delivery.deliver(call, signal, true)
      if (delivered?.answer.isOverRate) postpone(line, delivered.answer)
      else {
        line.waiting.shift()
        change(line, -1, -bytes)
        first.resolve(delivered)
      }
    }
    lines.delete(owner)
  }

  function openLine(owner: string, answer: ServiceAnswer): Line {
    const line: Line = { waiting: [], bytes: 0, answer, readyAtMs: 0 }
    postpone(line, answer)
    lines.set(owner, line)
    return line
  }

  return {
    async deliver({ owner, bytes, call, signal }) {
      let line = lines.get(owner)
      if (!line) {
        const delivered = await delivery.deliver(call, signal, true)
        if (!delivered?.answer.isOverRate) return delivered
        line = lines.get(owner) ?? openLine(owner, delivered.answer)
      }
      const joined = line
      if (!makeRoom(joined, bytes)) {
        if (joined.waiting.length === 0) lines.delete(owner)
        return { outcome: 'refused', answer: joined.answer }
      }
      return new Promise((resolve) => {
        joined.waiting.push({ bytes, call, signal, resolve })
        change(joined, 1, bytes)
        if (joined.waiting.length === 1) void empty(owner, joined)
      })
    },
    waiting: () => held.messages,
  }
}
