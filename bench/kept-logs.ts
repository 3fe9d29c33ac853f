import { copyFile, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Copies the log of an engine and the crash files of its Java machine to a new folder, which stays after the run. `dir` is the
 * folder of the engine. Returns the new folder.
 */
export async function keepLogs(dir: string): Promise<string> {
  const kept = await mkdtemp(join(tmpdir(), 'routerfleet-bench-logs-'))
  const names = (await readdir(dir)).filter((name) => name.endsWith('.log'))
  for (const name of names) await copyFile(join(dir, name), join(kept, name))
  return kept
}
