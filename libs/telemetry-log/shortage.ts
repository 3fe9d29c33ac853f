const shortages: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])

/** No room on the disk, or no more files may be open: nothing is broken, and it may work a moment later. */
export const isShortage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && shortages.has(error.code)
