import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { statesSuffix } from './checkpoint.ts'

/** Bytes of all files in the folder and below it, without those of states, which can be deleted at any time. */
export function folderBytes(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (path.endsWith(statesSuffix)) continue
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
