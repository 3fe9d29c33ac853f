/** Cells per query of votes. */
export const cellsAtOnce = 5_000

/** Votes that differ and are in memory at once. Each takes about 250 bytes until its cell is computed. */
export const countsAtOnce = 400_000
