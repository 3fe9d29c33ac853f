import { open, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file with mode 0600 durably: a reader, also after a power cut, finds either the old or the new text, and the new
 * one when this has resolved.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const building = `${path}.new`
  await writeFile(building, text, { mode: 0o600, flush: true })
  await rename(building, path)
  await sync(dirname(path))
}

/** Makes a file durable, or the created, renamed and deleted files of a folder. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Returns whether the error has one of these codes. */
export const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code))
