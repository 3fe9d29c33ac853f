import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Bytes of all files in the folder and below it. */
export function folderBytes(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    // A file may be deleted after it was listed.
    bytes += entry.isDirectory() ? folderBytes(path) : (statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  }
  return bytes
}

/** Returns the free bytes on the folder's disk. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
