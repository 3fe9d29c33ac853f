const mebibyte = 1024 * 1024

/**
 * Maximum bytes of each cache of the fleet map per process, 208 MiB in total. Sizes are estimates of heap memory. The
 * least recently used entries are evicted first. An entry that is larger than its cache is not cached.
 */
export const cacheBytes = {
  /** Coverage cells by filter. */
  coverageLists: 48 * mebibyte,
  /** Dwells by filter. */
  dwellLists: 48 * mebibyte,
  /** Rendered and compressed answers, for a second. */
  answers: 48 * mebibyte,
  /** Selections of devices, for readers who come back while nothing changed. */
  selections: 32 * mebibyte,
  /** Which devices an answer showed, to tell later who left. */
  seenDevices: 32 * mebibyte,
}

/** Bytes of events that streams may hold for clients that have not taken them yet. */
export const maxWaitingEventBytes = 64 * mebibyte

/** Cells in one answer. A cell takes about a kilobyte. */
export const maxCells = 50_000

/** Dwells in one fleet GPS answer. */
export const maxDwells = 250_000
