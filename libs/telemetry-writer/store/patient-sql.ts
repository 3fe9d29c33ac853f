import type { QuestdbSql } from '#questdb/server/sql'

/** Runs work that needs the database until it succeeds. Rejects only when the writer stops. */
export type UntilAvailable = <Result>(work: () => Promise<Result>) => Promise<Result>

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
