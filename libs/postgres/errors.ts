const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** True when the error is a violation of the unique constraint or index of that name. */
export const isUniqueViolation = (error: unknown, constraint: string): boolean =>
  codeOf(error) === '23505' && error instanceof Error && 'constraint' in error && error.constraint === constraint

/** True when the error is a violation of the foreign key of that name. */
export const isForeignKeyViolation = (error: unknown, constraint: string): boolean =>
  codeOf(error) === '23503' && error instanceof Error && 'constraint' in error && error.constraint === constraint

// 08: connection exceptions; 25006: the server is a standby; 40001, 40P01: conflict with another transaction; 53300: too many
// connections; 57P: shutdown.
const unavailable =
  /^(?:08...|25006|40001|40P01|57P0[123]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)$/
// "read timeout": of the driver, or of QuestDB when a table changes for too long.
const messages =
  /timeout expired|timeout exceeded when trying to connect|read timeout|Connection terminated|not queryable/

/** True when the database is unreachable or overloaded, or the transaction lost a conflict. A later attempt may succeed. */
export const isUnavailable = (error: unknown): boolean =>
  unavailable.test(codeOf(error) ?? '') || (error instanceof Error && messages.test(error.message))
