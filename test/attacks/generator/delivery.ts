import { setTimeout as delay } from 'node:timers/promises'
import type { AttackerAnswer, AttackerClient } from '../attacker-client.ts'
import { openRawSocket } from '../raw-socket.ts'
import type { Random } from './random.ts'
import type { GeneratedRequest } from './request.ts'

/** How a request is sent: as a whole, abandoned halfway, byte by byte, or pipelined on one connection. */
export type Manner = 'whole' | 'left' | 'slow' | 'pipelined' | 'cut'

export const manners: readonly [Manner, ...Manner[]] = [
  'whole',
  ...Array.from({ length: 11 }, () => 'whole' as const),
  'left',
  'slow',
  'pipelined',
  'cut',
]

/** Sends a request in the given way and counts its response. Returns undefined without a complete response. */
export async function deliver(
  client: AttackerClient,
  url: string,
  request: GeneratedRequest,
  manner: Manner,
  random: Random,
  stop: AbortSignal,
): Promise<AttackerAnswer | undefined> {
  if (manner === 'whole' || manner === 'left') {
    const leaving = manner === 'left' ? { signal: AbortSignal.timeout(random.size(2_000)) } : {}
    // Only a raw socket can send a length or coding that contradicts the body.
    const { 'content-length': _, 'transfer-encoding': __, ...headers } = request.headers
    return client.call({
      url: `${url}${request.path}`,
      method: request.method,
      headers,
      ...(request.body && { body: request.body }),
      ...leaving,
    })
  }
  client.count(await deliverRaw(url, request, manner, random, stop))
  return undefined
}

async function deliverRaw(
  url: string,
  request: GeneratedRequest,
  manner: Manner,
  random: Random,
  stop: AbortSignal,
): Promise<string> {
  const bytes = bytesOf(request)
  const { socket, outcome } = openRawSocket(url)
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const pause = (ms: number) => Promise.race([ended, delay(ms, undefined, { signal: stop }).catch(() => {})])
  if (manner === 'pipelined') for (let times = random.whole(2, 20); times > 0; times--) socket.write(bytes)
  if (manner === 'cut') socket.write(bytes.subarray(0, random.whole(0, bytes.length)))
  if (manner === 'slow') {
    const step = Math.max(1, Math.ceil(bytes.length / random.whole(2, 30)))
    for (let at = 0; at < bytes.length && socket.writable && !stop.aborted; at += step) {
      socket.write(bytes.subarray(at, at + step))
      await pause(100)
    }
  }
  await pause(manner === 'slow' ? 3_000 : random.size(1_000))
  socket.destroy()
  return `raw ${outcome()}`
}

function bytesOf({ method, path, headers, body }: GeneratedRequest): Buffer {
  const length =
    body !== undefined && !('transfer-encoding' in headers) ? { 'content-length': String(body.length) } : {}
  const lines = Object.entries({ host: 'routerfleet', ...length, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`),
    body ?? Buffer.alloc(0),
  ])
}
