import type { QuestdbSql } from '#questdb/sql'

/** Runs work that needs the database until it succeeds; rejects only when the writer is to end. */
export type UntilAvailable = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * The same database, each statement repeated until it is answered: only what happens to a statement is an outage. An
 * error in what is made of the answers reaches whoever asked.
 */
export function createPatientSql(sql: QuestdbSql, untilAvailable: UntilAvailable): QuestdbSql {
  return {
    query: (text, values) => untilAvailable(() => sql.query(text, values)),
    queryArrays: (text, values) => untilAvailable(() => sql.queryArrays(text, values)),
    end: sql.end,
  }
}
