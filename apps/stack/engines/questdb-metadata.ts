import { access, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '#files/durable-file'

/**
 * Gives the tables of a stopped QuestDB their metadata back. To change a table, QuestDB renames `_meta` to `_meta.prev` and then
 * the new file to `_meta`. Killed in between, it does not find the table again. With the previous file, it repeats the change
 * from the log of the table. Returns the folders of the tables.
 */
export async function restoreMetadata(dataDir: string): Promise<string[]> {
  const databaseDir = join(dataDir, 'db')
  const folders = await readdir(databaseDir, { withFileTypes: true }).catch(unlessMissing)
  const restored: string[] = []
  for (const folder of folders ?? []) {
    if (!folder.isDirectory()) continue
    const metadata = join(databaseDir, folder.name, '_meta')
    const isKnown = await access(metadata).then(() => true, unlessMissing)
    if (isKnown) continue
    const isRestored = await rename(`${metadata}.prev`, metadata).then(() => true, unlessMissing)
    if (isRestored) restored.push(folder.name)
  }
  return restored
}

function unlessMissing(error: unknown): undefined {
  if (!isCode(error, 'ENOENT')) throw error
}
