import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Connections that are read at the same time, and how long each is read before others follow. */
const readAtOnce = 2
const turnMs = 10
/** The time a client has to finish a body that nobody reads. */
const discardLimitMs = 5_000

/** The rest of a body whose request was answered. */
type Rest = { request: IncomingMessage; socket: Socket; endMs: number }

/**
 * Discards the rest of bodies that were answered before they were read, a few connections at a time. A connection that
 * closes with unread data loses the answer, so the rest has to be read. Without turns, Node reads up to 2 MiB from each
 * connection in one turn of the event loop, and a thousand refused uploads would keep every other client waiting. Closes
 * the connection when the rest does not arrive within 5 s.
 */
export function discardInTurns(listener: RequestListener): RequestListener {
  const waiting: Rest[] = []
  let reading: Rest[] = []

  const add = (rest: Rest): void => {
    if (isOver(rest)) return
    rest.request.resume()
    rest.socket.pause()
    waiting.push(rest)
    if (waiting.length === 1 && reading.length === 0) nextTurn()
  }

  const nextTurn = (): void => {
    for (const rest of reading) {
      if (isOver(rest)) continue
      rest.socket.pause()
      waiting.push(rest)
    }
    reading = []
    while (reading.length < readAtOnce) {
      const rest = waiting.shift()
      if (rest === undefined) break
      if (isOver(rest)) continue
      if (performance.now() > rest.endMs) rest.socket.destroySoon()
      else {
        rest.socket.resume()
        reading.push(rest)
      }
    }
    if (reading.length > 0) setTimeout(nextTurn, turnMs).unref()
  }

  return (request, response) => {
    const { socket } = request
    response.once('finish', () => {
      if (request.complete) return
      // Node resumes the connection in a tick that is queued already. The pause must follow it and precede the next read.
      queueMicrotask(() => add({ request, socket, endMs: performance.now() + discardLimitMs }))
    })
    listener(request, response)
  }
}

const isOver = ({ request, socket }: Rest): boolean => request.complete || socket.destroyed
