import type { QuestdbSql } from '#questdb/server/sql'
import type { UntilAvailable } from './until-available.ts'

/**
 * The same database, with each statement repeated until it succeeds. Only failures of statements count as an outage. The
 * caller receives errors of its own code.
 */
export function createPatientSql(sql: QuestdbSql, untilAvailable: UntilAvailable): QuestdbSql {
  return {
    query: (text, values) => untilAvailable(() => sql.query(text, values)),
    queryArrays: (text, values) => untilAvailable(() => sql.queryArrays(text, values)),
    end: sql.end,
  }
}
