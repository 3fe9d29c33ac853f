import { execFile } from 'node:child_process'
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Distributes the partitions of QuestDB's tables over an ext4 that has no journal. Such a file system passes over each inode
 * that was deleted in the last minutes when it creates a file in the same block group, and almost every commit replaces the
 * files of the newest partition. The attribute `T` of a folder puts each of its new subfolders, here partitions, into another
 * block group. Does nothing for other file systems, and never throws: a table without the attribute only costs more CPU time.
 * `questdbDir` is the folder of the engine, whose tables must exist.
 */
export async function spreadPartitions(questdbDir: string): Promise<void> {
  const tablesDir = join(questdbDir, 'data', 'db')
  try {
    if (!(await isOnExt4WithoutJournal(tablesDir))) return
    const entries = await readdir(tablesDir, { withFileTypes: true })
    const tables = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(tablesDir, name))
    if (tables.length > 0) await run('chattr', ['+T', ...tables])
  } catch {
    // No QuestDB of ours, no chattr, or no permission.
  }
}

/** Whether the folder is on an ext4 without a journal. Throws if the folder does not exist. */
export async function isOnExt4WithoutJournal(dir: string): Promise<boolean> {
  const { dev } = await stat(dir, { bigint: true })
  try {
    const device = basename(await readlink(`/sys/dev/block/${majorOf(dev)}:${minorOf(dev)}`))
    return (await readFile(`/sys/fs/ext4/${device}/journal_task`, 'utf8')).trim() === '<none>'
  } catch {
    return false
  }
}

// The encoding of dev_t in the GNU C library.
const majorOf = (dev: bigint) => ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n)
const minorOf = (dev: bigint) => (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)
