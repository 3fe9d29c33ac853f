import type { Logger } from '#http/request-log'
import { applySchema } from '#questdb/schema/schema'
import { type IlpTransport, openIlpTransport } from '#questdb/server/ilp-transport'
import type { QuestdbServer } from '#questdb/server/servers'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import type { LogPosition } from '#telemetry-log/log'
import { createWatch, type Watch } from '#telemetry-writer/watch'

/** The QuestDB that all partitions of this process store to. */
export type Questdb = {
  sql: QuestdbSql
  transport: IlpTransport
  watch: Watch
  /** Creates or repairs the tables. Concurrent calls share one run. */
  repairSchema(): Promise<void>
  close(): Promise<void>
}

/** Opens the connections. The watch's positions are times of `performance.now()`: see `createAppliedPositions`. */
export function openQuestdb(server: QuestdbServer, ttlDays: number, logger: Logger): Questdb {
  const { url, pgUrl, user, password } = server
  const sql = openQuestdbSql(pgUrl, { applicationName: 'writer', maxConnections: 6 })
  const transport = openIlpTransport({ url, user, password })
  let repairing: Promise<void> | undefined
  return {
    sql,
    transport,
    watch: createWatch({ questdb: sql, storedPosition: () => performance.now(), resumes: true, logger }),
    repairSchema() {
      repairing ??= applySchema(sql, { ttlDays }).finally(() => {
        repairing = undefined
      })
      return repairing
    },
    async close() {
      await Promise.all([transport.close(), sql.end()])
    },
  }
}

export type AppliedPositions = {
  /** Records that rows before the position are stored now. */
  stored(position: LogPosition): void
  /** Returns the position before which all rows were stored before `timeMs` of `performance.now()`. */
  before(timeMs: number): LogPosition
}

/** Translates the time up to which QuestDB has applied rows to a position of one partition. */
export function createAppliedPositions(): AppliedPositions {
  const waiting: { position: LogPosition; atMs: number }[] = []
  let applied: LogPosition = 0
  return {
    stored(position) {
      waiting.push({ position, atMs: performance.now() })
    },
    before(timeMs) {
      const next = waiting.findIndex(({ atMs }) => atMs >= timeMs)
      const passed = waiting.splice(0, next < 0 ? waiting.length : next)
      applied = passed.at(-1)?.position ?? applied
      return applied
    },
  }
}
