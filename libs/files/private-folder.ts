import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { isCode } from '#files/durable-file'

/** Makes created, renamed and deleted files of the folder durable. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Creates a folder that only its owner can read, durable in the folder above it. Also restricts a folder that an earlier version
 * created, unless it belongs to another user, as the root of a volume does.
 */
export function preparePrivateFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) {
    restrict(folder)
    return
  }
  for (let created = folder; created.length >= first.length; created = dirname(created)) syncFolder(dirname(created))
}

function restrict(folder: string): void {
  try {
    chmodSync(folder, 0o700)
  } catch (error) {
    if (!isCode(error, 'EPERM', 'EROFS')) throw error
  }
}
