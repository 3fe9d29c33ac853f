const mebibyte = 1024 * 1024

/**
 * Maximum bytes of each cache of the fleet map per process, 640 MiB in total. Sizes are estimates of heap memory. The
 * least recently used entries are evicted first. An entry that is larger than its cache is not cached.
 */
export const cacheBytes = {
  /** Coverage cells by filter. */
  coverageLists: 48 * mebibyte,
  /** Dwells by filter. */
  dwellLists: 48 * mebibyte,
  /** Rendered and compressed responses, for a second. */
  answers: 48 * mebibyte,
  /** Compressed responses of coverage, while their lists are read. */
  listAnswers: 16 * mebibyte,
  /** Selections of devices, while the maps do not change. */
  selections: 32 * mebibyte,
  /** The devices of responses, to find those that left. */
  seenDevices: 32 * mebibyte,
  /** Devices by cell and tile, for the filters of vector tiles: up to about 200 bytes a device. The last one is kept. */
  tileIndexes: 240 * mebibyte,
  /** Encoded and compressed vector tiles, by content. */
  tiles: 48 * mebibyte,
  /** The data use of devices by organization, for lists. */
  dataUse: 64 * mebibyte,
  /** The nearest towns of devices by organization, for lists. */
  nearestTowns: 64 * mebibyte,
}

/** Bytes of events that may wait for slow clients of streams. */
export const maxWaitingEventBytes = 64 * mebibyte

/** Cells in one response. A cell takes about a kilobyte. */
export const maxCells = 50_000

/** Dwells in one fleet GPS response. */
export const maxDwells = 250_000
