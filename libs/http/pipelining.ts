import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of a connection that have not begun. `isFull`: the connection closes after the last one. */
type Line = { begins: (() => void)[]; isBusy: boolean; isFull: boolean }

/** Maximum number of requests on a connection without a response. */
export const maxPipelined = 16

/**
 * Handles the requests of one connection one after another. Node begins all pipelined requests that arrived in one
 * packet in the same turn of the event loop, up to 1,500 of them. Here each begins in a separate turn, after the previous
 * response. The response to the last request within the limit has `Connection: close`; the client must send the following
 * requests again on a new connection (RFC 9112, 9.3.2).
 */
export function oneAtATime(listener: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>()

  const lineOf = (socket: Socket): Line => {
    const line = lines.get(socket) ?? { begins: [], isBusy: false, isFull: false }
    lines.set(socket, line)
    return line
  }

  const beginNext = (socket: Socket, line: Line): void => {
    if (socket.destroyed) line.begins = []
    const begin = line.begins.shift()
    line.isBusy = begin !== undefined
    begin?.()
  }

  return (request, response) => {
    const { socket } = request
    const line = lineOf(socket)
    if (line.isFull) return
    const unanswered = line.begins.length + (line.isBusy ? 2 : 1)
    if (unanswered >= maxPipelined) {
      line.isFull = true
      stopParsing(socket)
      response.setHeader('Connection', 'close')
    }
    const begin = () => {
      response.once('close', () => {
        if (line.begins.length === 0) line.isBusy = false
        else setImmediate(beginNext, socket, line)
      })
      listener(request, response)
    }
    if (line.isBusy) line.begins.push(begin)
    else {
      line.isBusy = true
      begin()
    }
  }
}

type Parsed = Socket & { parser?: { onIncoming?: unknown } | null }

/**
 * Reads and parses nothing more. A packet of 64 KiB can hold 1,500 requests, each of which costs Node 10 µs although it is
 * not answered. The parser stops when this internal callback reports a change of the protocol. Without the callback
 * only the time is lost.
 */
function stopParsing(socket: Parsed): void {
  socket.pause()
  if (typeof socket.parser?.onIncoming === 'function') socket.parser.onIncoming = () => protocolChange
}

/** llhttp: skip the body and leave the rest of the data alone. */
const protocolChange = 2
