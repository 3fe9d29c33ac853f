import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '#files/durable-file'
import type { BackupWriter } from './backup-folder.ts'

const chunkBytes = 1024 ** 2
const filesAtOnce = 8

/** Adds a file up to its present end, or nothing if it does not exist. */
export async function addFileIfAny(backup: BackupWriter, path: string, source: string): Promise<void> {
  const file = await openIfAny(source)
  if (!file) return
  try {
    await backup.add(path, readUntil(file, (await file.stat()).size))
  } finally {
    await file.close()
  }
}

/** Adds all files of a folder, except those for which `isExcluded`. Others may be created and deleted meanwhile. */
export async function addFolder(
  backup: BackupWriter,
  path: string,
  folder: string,
  isExcluded: (relativePath: string) => boolean = () => false,
): Promise<void> {
  // Leaving a loop with an error ends the iterator that all loops share.
  const names = eachOf((await listFiles(folder)).filter((name) => !isExcluded(name)))
  const addRest = async () => {
    for (const name of names) await addFileIfAny(backup, `${path}/${name}`, join(folder, name))
  }
  const results = await Promise.allSettled(Array.from({ length: filesAtOnce }, addRest))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

function* eachOf<Item>(items: readonly Item[]): Generator<Item> {
  yield* items
}

/** Returns the paths of all files, relative to `folder`, also of those below symbolic links. */
async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return []
    throw error
  })
  const lists = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      const isFolder = entry.isSymbolicLink() ? (await stat(path)).isDirectory() : entry.isDirectory()
      if (!isFolder) return [entry.name]
      return (await listFiles(path)).map((name) => `${entry.name}/${name}`)
    }),
  )
  return lists.flat()
}

/** Opens a file for reading. Undefined if it does not exist. */
export const openIfAny = (path: string): Promise<FileHandle | undefined> =>
  open(path, 'r').catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  })

/** Reads a file from its start to `end`, or to its end if that is earlier. */
export async function* readUntil(file: FileHandle, end: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < end; ) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, end - position))
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield chunk.subarray(0, bytesRead)
  }
}
