import { chown, copyFile, mkdir, readdir, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { isCode, sync } from '#files/durable-file'
import { foldersOf, type Manifest } from './backup-folder.ts'

/** Returns whether a folder is empty or does not exist. */
export async function isEmptyFolder(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return []
    throw error
  })
  return names.every((name) => name === 'lost+found')
}

/**
 * Copies a file or a folder of a backup to `target`. If root runs this, the files belong to the owner of the folder in which
 * they are created, because the services do not run as root.
 */
export async function copyFiles(
  backup: string,
  manifest: Manifest,
  from: string,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const owner = await ownerOf(target)
  const copied = manifest.files.map(({ path }) => path).filter((path) => path === from || path.startsWith(`${from}/`))
  for (const path of copied) {
    signal.throwIfAborted()
    const copy = join(target, path.slice(from.length))
    const created = await mkdir(dirname(copy), { recursive: true, mode: 0o700 })
    await copyFile(join(backup, path), copy)
    await sync(copy)
    if (!owner) continue
    if (created) await chownBetween(created, dirname(copy), owner)
    await chown(copy, owner.uid, owner.gid)
  }
  // A secret or a row that a power cut takes away would be missed only when the backup is gone.
  for (const folder of foldersOf(copied.map((path) => path.slice(from.length + 1)))) await sync(join(target, folder))
  if (copied.length > 0) await sync(dirname(target))
}

type Owner = { uid: number; gid: number }

async function ownerOf(target: string): Promise<Owner | undefined> {
  if (userInfo().uid !== 0) return undefined
  for (let folder = target; ; folder = dirname(folder)) {
    const found = await stat(folder).catch(() => undefined)
    if (found) return found
  }
}

/** Changes the owner of the folders from `first` to `last`, which is inside it. */
async function chownBetween(first: string, last: string, { uid, gid }: Owner): Promise<void> {
  for (let folder = last; folder.length >= first.length; folder = dirname(folder)) await chown(folder, uid, gid)
}
