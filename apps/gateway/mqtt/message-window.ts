export type MessageWindow = {
  enter(bytes: number): void
  leave(bytes: number): void
  /** Calls `proceed` as soon as another message may enter: at once, or later. */
  whenOpen(proceed: () => void): void
  /** Resolves when no message is in the window. */
  whenEmpty(): Promise<void>
  messages(): number
  bytes(): number
}

/** Bounds the messages in memory. Messages enter one after another, each after `whenOpen`. */
export function createMessageWindow(limits: { messages: number; bytes: number }): MessageWindow {
  let messages = 0
  let bytes = 0
  let waiting: (() => void) | undefined
  let emptied: (() => void) | undefined
  const isOpen = () => messages < limits.messages && bytes < limits.bytes
  return {
    enter(size) {
      messages += 1
      bytes += size
    },
    leave(size) {
      messages -= 1
      bytes -= size
      if (messages === 0) emptied?.()
      if (!waiting || !isOpen()) return
      const proceed = waiting
      waiting = undefined
      proceed()
    },
    whenOpen(proceed) {
      if (isOpen()) proceed()
      else waiting = proceed
    },
    whenEmpty: () =>
      new Promise((resolve) => {
        emptied = resolve
        if (messages === 0) resolve()
      }),
    messages: () => messages,
    bytes: () => bytes,
  }
}
