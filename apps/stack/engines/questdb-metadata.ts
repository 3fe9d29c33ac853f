import type { Dirent } from 'node:fs'
import { access, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '#files/durable-file'

/**
 * Repairs the tables of a stopped QuestDB that was killed while it created or changed them. Returns the folders of the tables
 * that have their metadata again, and of those that were removed because their creation had not ended.
 */
export async function repairTables(dataDir: string): Promise<{ restored: string[]; removed: string[] }> {
  const databaseDir = join(dataDir, 'db')
  const removed = await removeUnfinishedTables(databaseDir)
  return { restored: await restoreMetadata(databaseDir), removed }
}

/**
 * Gives tables their metadata back. To change a table, QuestDB renames `_meta` to `_meta.prev` and then the new file to `_meta`.
 * Killed in between, it does not find the table again. With the previous file, it repeats the change from the log of the table.
 */
async function restoreMetadata(databaseDir: string): Promise<string[]> {
  const restored: string[] = []
  for (const folder of await foldersIn(databaseDir)) {
    const metadata = join(databaseDir, folder, '_meta')
    const isKnown = await access(metadata).then(() => true, unlessMissing)
    if (isKnown) continue
    const isRestored = await rename(`${metadata}.prev`, metadata).then(() => true, unlessMissing)
    if (isRestored) restored.push(folder)
  }
  return restored
}

/**
 * Removes tables whose creation had not ended. QuestDB lists a table in `tables.d.N` when all its files are written. At its
 * start it also takes folders that are not listed, and then refuses every row of a table with an empty file. A folder that is
 * not listed holds no row if it has neither a partition nor a log of a writer; `CREATE TABLE IF NOT EXISTS` makes it again.
 */
async function removeUnfinishedTables(databaseDir: string): Promise<string[]> {
  const lists = (await entriesOf(databaseDir)).filter(({ name }) => /^tables\.d\.\d+$/.test(name))
  const listed = await Promise.all(lists.map(({ name }) => readFile(join(databaseDir, name))))
  const removed: string[] = []
  for (const folder of await foldersIn(databaseDir)) {
    const isTable = /^.+~\d+$/.test(folder)
    if (!isTable || listed.some((list) => list.includes(listEntry(folder)))) continue
    const parts = await foldersIn(join(databaseDir, folder))
    if (parts.some((part) => part !== sequencerFolder)) continue
    await rm(join(databaseDir, folder), { recursive: true })
    removed.push(folder)
  }
  return removed
}

/** The folder of a table's sequencer, which numbers the transactions of all its writers. */
const sequencerFolder = 'txn_seq'

/** The name of a folder as `tables.d.N` holds it: its length in characters, then its characters in UTF-16. */
function listEntry(folder: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32LE(folder.length)
  return Buffer.concat([length, Buffer.from(folder, 'utf16le')])
}

const foldersIn = async (dir: string): Promise<string[]> =>
  (await entriesOf(dir)).filter((entry) => entry.isDirectory()).map(({ name }) => name)

const entriesOf = async (dir: string): Promise<Dirent[]> =>
  (await readdir(dir, { withFileTypes: true }).catch(unlessMissing)) ?? []

function unlessMissing(error: unknown): undefined {
  if (!isCode(error, 'ENOENT')) throw error
}
