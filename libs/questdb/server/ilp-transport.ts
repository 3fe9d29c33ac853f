import { Pool } from 'undici'
import type { Secret } from '#core/secret'

/** The outcome of one request. `uncertain`: the rows may have been stored, or may still be stored later. */
type SendOutcome =
  | { kind: 'stored' }
  /** QuestDB rejected the rows for good. Nothing of the request was stored. */
  | { kind: 'refused'; detail: string }
  /** A retry may succeed. */
  | { kind: 'failed'; uncertain: boolean; detail: string }

export type IlpTransport = {
  /** Sends rows of one table, encoded as line protocol version 2. All are stored or none. Never rejects. */
  send(rows: Uint8Array): Promise<SendOutcome>
  close(): Promise<void>
}

export type IlpTransportOptions = { url: string; user: string; password: Secret; connections?: number }

// A suspended server keeps its sockets open. With a shorter limit, the same rows would be sent into them repeatedly.
const responseTimeoutMs = 60_000
const maxDetailCharacters = 1_000

/**
 * Opens a pool of keep-alive connections to QuestDB's HTTP line protocol endpoint. `docs/decisions/0014` explains why this is
 * not QuestDB's client.
 */
export function openIlpTransport({ url, user, password, connections = 8 }: IlpTransportOptions): IlpTransport {
  const pool = new Pool(new URL(url).origin, {
    connections,
    pipelining: 1,
    headersTimeout: responseTimeoutMs,
    bodyTimeout: responseTimeoutMs,
    connect: { timeout: 5_000 },
  })
  const authorization = `Basic ${Buffer.from(`${user}:${password.reveal()}`).toString('base64')}`
  const headers = { authorization, 'content-type': 'text/plain' }

  return {
    async send(rows) {
      try {
        const answer = await pool.request({ method: 'POST', path: '/write?precision=n', headers, body: rows })
        const text = await answer.body.text()
        if (answer.statusCode < 300) return { kind: 'stored' }
        const detail = `${answer.statusCode} ${text.slice(0, maxDetailCharacters)}`
        return answer.statusCode === 400
          ? { kind: 'refused', detail }
          : { kind: 'failed', uncertain: answer.statusCode >= 500, detail }
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
        const neverSent = code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ENOTFOUND'
        return { kind: 'failed', uncertain: !neverSent, detail: code }
      }
    },
    close: () => pool.destroy(),
  }
}
