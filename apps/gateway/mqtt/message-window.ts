export type MessageWindow = {
  enter(bytes: number): void
  leave(bytes: number): void
  /** Calls `proceed` as soon as another message may enter: at once, or later. */
  whenOpen(proceed: () => void): void
  messages(): number
  bytes(): number
}

/** Bounds the messages in memory. Messages enter one after another, each after `whenOpen`. */
export function createMessageWindow(limits: { messages: number; bytes: number }): MessageWindow {
  let messages = 0
  let bytes = 0
  let waiting: (() => void) | undefined
  const isOpen = () => messages < limits.messages && bytes < limits.bytes
  return {
    enter(size) {
      messages += 1
      bytes += size
    },
    leave(size) {
      messages -= 1
      bytes -= size
      if (!waiting || !isOpen()) return
      const proceed = waiting
      waiting = undefined
      proceed()
    },
    whenOpen(proceed) {
      if (isOpen()) proceed()
      else waiting = proceed
    },
    messages: () => messages,
    bytes: () => bytes,
  }
}
