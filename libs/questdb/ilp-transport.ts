import { Pool } from 'undici'
import type { Secret } from '#core/secret'

/** What became of one request: `uncertain` means that it may or may not have been stored. */
export type SendOutcome =
  | { kind: 'stored' }
  /** The database understood the rows and will never take them; nothing of the request was stored. */
  | { kind: 'refused'; detail: string }
  /** Worth sending again. */
  | { kind: 'failed'; uncertain: boolean; detail: string }

export type IlpTransport = {
  /** Sends rows of one table, encoded as line protocol version 2; they are stored all or none. Never rejects. */
  send(rows: Uint8Array): Promise<SendOutcome>
  close(): Promise<void>
}

export type IlpTransportOptions = { url: string; user: string; password: Secret; connections?: number }

// A stopped server still has its sockets; a shorter limit would send the same rows again and again into them.
const answerLimitMs = 60_000
const maxDetailCharacters = 1_000

/** A keep-alive connection pool to QuestDB's HTTP line protocol. */
export function openIlpTransport({ url, user, password, connections = 8 }: IlpTransportOptions): IlpTransport {
  const pool = new Pool(new URL(url).origin, {
    connections,
    pipelining: 1,
    headersTimeout: answerLimitMs,
    bodyTimeout: answerLimitMs,
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
