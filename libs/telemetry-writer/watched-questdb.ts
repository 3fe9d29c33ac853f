import type { Logger } from '#http/request-log'
import { applySchema } from '#questdb/schema/schema'
import { type IlpTransport, openIlpTransport } from '#questdb/server/ilp-transport'
import type { QuestdbServer } from '#questdb/server/servers'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { createWatch, type Watch } from './watch.ts'

/** The QuestDB that the partitions of a process or of a thread store to. */
export type WatchedQuestdb = {
  sql: QuestdbSql
  transport: IlpTransport
  watch: Watch
  /** Creates or repairs the tables. Concurrent calls share one run. */
  repairSchema(): Promise<void>
  close(): Promise<void>
}

/** Opens the connections. `resumes`: see `createWatch`. */
export function openWatchedQuestdb(parts: {
  server: Omit<QuestdbServer, 'name'>
  ttlDays: number
  applicationName: string
  maxConnections: number
  resumes: boolean
  logger: Logger
}): WatchedQuestdb {
  const { server, ttlDays, applicationName, maxConnections, resumes, logger } = parts
  const { url, pgUrl, user, password } = server
  const sql = openQuestdbSql(pgUrl, { applicationName, maxConnections })
  const transport = openIlpTransport({ url, user, password })
  let repairing: Promise<void> | undefined
  return {
    sql,
    transport,
    watch: createWatch({ questdb: sql, resumes, logger }),
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
