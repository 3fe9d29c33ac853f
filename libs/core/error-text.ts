/** Returns the message of anything that was thrown. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Returns what was thrown as an Error. */
export const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
