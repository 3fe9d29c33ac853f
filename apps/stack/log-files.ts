import { copyFile, readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { DataFolder } from './data-folder.ts'

const maxLogBytes = 16 * 1024 * 1024
const lookEveryMs = 60_000

/**
 * Limits the log of each part to about 32 MiB: copies a larger log to `<name>.1` and truncates it. The parts keep the file
 * open, so it cannot be renamed. Lines that are written between the two steps are lost. Returns functions to run it
 * immediately and to stop it.
 */
export function boundLogs(folder: DataFolder, maxBytes = maxLogBytes): { now(): Promise<void>; end(): void } {
  const now = async () => {
    for (const path of await logFiles(folder)) {
      const known = await stat(path).catch(() => undefined)
      if (!known || known.size <= maxBytes) continue
      await copyFile(path, `${path}.1`)
      await truncate(path)
    }
  }
  const timer = setInterval(() => now().catch(() => {}), lookEveryMs)
  return { now, end: () => clearInterval(timer) }
}

async function logFiles(folder: DataFolder): Promise<string[]> {
  const apps = (await readdir(folder.logs).catch(() => [])).filter((name) => name.endsWith('.log'))
  const { postgres, questdb, questdbB, kafka, redis } = folder
  const engines = [postgres, questdb, questdbB, kafka, redis].map((dir) => join(dir, 'server.log'))
  return [...apps.map((name) => join(folder.logs, name)), ...engines]
}
