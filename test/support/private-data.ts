import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the files and folders below a folder, and the folder itself, that others than their owner can read or change. QuestDB
 * creates its files with mode 0644 whatever the umask is, so of its data only the folders count, which others cannot enter.
 */
export function readableByOthers(path: string): string[] {
  const entry = statSync(path, { throwIfNoEntry: false })
  // A file that was deleted meanwhile.
  if (!entry) return []
  const isClosed = (entry.mode & 0o066) === 0 || (entry.isFile() && /\/questdb(-b)?\/data\//.test(path))
  const own = isClosed ? [] : [`${path} ${(entry.mode & 0o777).toString(8)}`]
  if (!entry.isDirectory()) return own
  return [...own, ...namesIn(path).flatMap((name) => readableByOthers(join(path, name)))]
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
