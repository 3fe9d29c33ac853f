import { ServiceError } from '#core/errors'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'

/** Connections to a copy from the time at which it begins to answer until it stops answering. */
export type CopySession = {
  /** Its statements reject with 503 `unavailable` as soon as the session is abandoned. */
  questdb: QuestdbSql
  /** Ends all statements and closes all connections. A frozen server would hold them for minutes. */
  abandon(): void
}

/** `onAnswer` is called after each statement that the server has answered. */
export function openCopySession(
  pgUrl: string,
  options: { applicationName: string; maxConnections: number; onAnswer: () => void },
): CopySession {
  const { onAnswer, ...sqlOptions } = options
  const sql = openQuestdbSql(pgUrl, sqlOptions)
  const lost = new AbortController()

  async function run<Result>(
    statement: (signal: AbortSignal) => Promise<Result>,
    caller: AbortSignal | undefined,
  ): Promise<Result> {
    if (lost.signal.aborted) throw copyLost()
    const ending = new AbortController()
    const end = () => ending.abort()
    caller?.addEventListener('abort', end, { once: true })
    if (caller?.aborted) end()
    try {
      const result = await unlessLost(statement(ending.signal), lost.signal, end)
      onAnswer()
      return result
    } finally {
      caller?.removeEventListener('abort', end)
    }
  }

  return {
    questdb: {
      query: (text, values, signal) => run((ending) => sql.query(text, values, ending), signal),
      queryArrays: (text, values, signal) => run((ending) => sql.queryArrays(text, values, ending), signal),
      end: () => sql.end(),
    },
    abandon() {
      lost.abort()
      sql.end().catch(() => {})
    },
  }
}

/** Rejects when the copy is lost, and calls `onLost` to end the work. The work may be waiting for a connection. */
function unlessLost<Result>(work: Promise<Result>, lost: AbortSignal, onLost: () => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      reject(copyLost())
      onLost()
    }
    lost.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => lost.removeEventListener('abort', leave))
  })
}

const copyLost = () =>
  new ServiceError(503, 'unavailable', 'Service temporarily unavailable. Retry later.', {
    headers: { 'Retry-After': '1' },
  })
