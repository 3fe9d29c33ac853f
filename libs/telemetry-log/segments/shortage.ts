const shortages: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])

/** The disk is full or no file descriptor is available. A retry may succeed. */
export const isShortage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && shortages.has(error.code)
