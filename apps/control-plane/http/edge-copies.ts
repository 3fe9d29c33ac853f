import { crc32 } from 'node:zlib'
import { Pool } from 'undici'

/** The copies of the device edge. */
export type EdgeCopies = {
  /**
   * Sends a request to one copy. Requests with the same credentials go to the same copy while it is available, and requests
   * without credentials take turns. If no connection to the copy can be opened, `send` is called again with the next one.
   * Rejects with the error of the last copy, and at once if the copy may have received the request.
   */
  request<Answer>(credentials: string | undefined, send: (pool: Pool) => Promise<Answer>): Promise<Answer>
  close(): Promise<void>
}

/** Long enough for a router's long-poll of 55 s. */
const answerLimitMs = 70_000
const connectLimitMs = 2_000
/** How long a copy that could not be reached is tried last. */
const avoidedForMs = 1_000

/** The errors after which no byte of the request was sent. */
const notConnected: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Opens a pool of keep-alive connections for each copy of the device edge. */
export function createEdgeCopies(urls: readonly string[]): EdgeCopies {
  const copies = urls.map((url) => ({ pool: openEdgePool(url), avoidedUntilMs: 0 }))
  let turns = 0

  function inOrder(credentials: string | undefined) {
    if (copies.length === 1) return copies
    const first = (credentials === undefined ? turns++ : crc32(credentials)) % copies.length
    const nowMs = performance.now()
    const isAvoided = (copy: { avoidedUntilMs: number }) => Number(copy.avoidedUntilMs > nowMs)
    const rotated = [...copies.slice(first), ...copies.slice(0, first)]
    return rotated.sort((a, b) => isAvoided(a) - isAvoided(b))
  }

  return {
    async request(credentials, send) {
      let failure: unknown
      for (const copy of inOrder(credentials)) {
        try {
          return await send(copy.pool)
        } catch (error) {
          if (!notConnected.has((error as NodeJS.ErrnoException).code)) throw error
          copy.avoidedUntilMs = performance.now() + avoidedForMs
          failure = error
        }
      }
      throw failure
    },
    async close() {
      await Promise.all(copies.map(({ pool }) => pool.destroy()))
    },
  }
}

const openEdgePool = (url: string): Pool =>
  new Pool(url, {
    // No limit: each router that waits for a job uses a connection.
    connections: null,
    headersTimeout: answerLimitMs,
    bodyTimeout: answerLimitMs,
    connect: { timeout: connectLimitMs },
    pipelining: 1,
  })
