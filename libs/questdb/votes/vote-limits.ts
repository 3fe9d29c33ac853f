/**
 * Cells per statement. The parser of QuestDB keeps the memory that its largest statement took, about 3 KB for each cell in
 * each of its compilers: with 17,000 cells, a few concurrent statements fill its heap.
 */
export const cellsAtOnce = 2_500

/** Votes that differ and are in memory at once. Each takes about 250 bytes until its cell is computed. */
export const countsAtOnce = 400_000
