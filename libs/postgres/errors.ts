const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** True when the error is a violation of the unique constraint or index of that name. */
export const isUniqueViolation = (error: unknown, constraint: string): boolean =>
  codeOf(error) === '23505' && error instanceof Error && 'constraint' in error && error.constraint === constraint

/** True when the error is a violation of the foreign key of that name. */
export const isForeignKeyViolation = (error: unknown, constraint: string): boolean =>
  codeOf(error) === '23503' && error instanceof Error && 'constraint' in error && error.constraint === constraint

const statementTimeout = '57014'

// 08: connection exceptions; 25006: the server is a standby; 25P03, 25P04: a transaction paused or ran for too long; 53300: too
// many connections; 57P: shutdown.
const unavailable =
  /^(?:08...|25006|25P0[34]|57P0[123]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)$/
// 40001, 40P01: conflict with another transaction; 55P03: a lock was not released in time.
const contended = new Set(['40001', '40P01', '55P03', statementTimeout])
// "read timeout": of the driver, or of QuestDB when a table changes for too long. "does not exist" and "Invalid column": QuestDB
// before the ingest process has created or upgraded its tables.
const messages =
  /timeout expired|timeout exceeded when trying to connect|read timeout|Connection terminated|not queryable|table does not exist|Invalid column/

/**
 * True when the database is unreachable or overloaded, the transaction lost a conflict, or a statement reached a time limit. A
 * later attempt may succeed.
 */
export const isUnavailable = (error: unknown): boolean =>
  unavailable.test(codeOf(error) ?? '') ||
  isContended(error) ||
  (error instanceof Error && messages.test(error.message))

/**
 * True when one transaction failed because of others, or reached a time limit, on a database that serves other transactions.
 */
const isContended = (error: unknown): boolean => contended.has(codeOf(error) ?? '')

/** True when the database is unavailable to everybody, and not only to one transaction. */
export const isStoreUnavailable = (error: unknown): boolean => isUnavailable(error) && !isContended(error)

/** True when a statement ran for too long, which one for fewer rows may not. */
export const isStatementTimeout = (error: unknown): boolean => codeOf(error) === statementTimeout

/** True when a statement did not get a lock in time. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03'
