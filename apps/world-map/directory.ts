import { gzipSync } from 'node:zlib'
import type { Entry } from 'pmtiles'

/**
 * Returns a directory of a PMTiles archive, compressed with gzip: the number of entries, then column by column the difference of
 * each tile id to the one before, run lengths, lengths, and offsets. Entries are in the order of their tile ids.
 */
export function serializeDirectory(entries: readonly Entry[]): Buffer {
  const bytes: number[] = []
  writeVarint(bytes, entries.length)
  for (const [index, { tileId }] of entries.entries()) writeVarint(bytes, tileId - (entries[index - 1]?.tileId ?? 0))
  for (const { runLength } of entries) writeVarint(bytes, runLength)
  for (const { length } of entries) writeVarint(bytes, length)
  for (const [index, { offset }] of entries.entries()) {
    const before = entries[index - 1]
    // 0: directly behind the entry before.
    writeVarint(bytes, before && offset === before.offset + before.length ? 0 : offset + 1)
  }
  return gzipSync(Buffer.from(bytes))
}

/** Appends a number of up to 53 bits, 7 bits a byte, the lowest first. */
function writeVarint(bytes: number[], value: number): void {
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  bytes.push(rest)
}
