import { existsSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { DataFolder } from './data-folder.ts'
import type { Progress } from './progress.ts'

// Of a running server, not of its data.
const notCopied: ReadonlySet<string> = new Set(['pid', 'server.log'])

/**
 * Copies the data of the first QuestDB to the second one when a folder is used for a cluster for the first time, so that both
 * have the telemetry of earlier starts. No QuestDB may run.
 */
export async function fillSecondCopy(folder: DataFolder, progress: Progress): Promise<void> {
  if (existsSync(folder.questdbB) || !existsSync(join(folder.questdb, 'data'))) return
  const finished = progress.begin('QuestDB-b', 'copying the data of earlier starts')
  const incomplete = `${folder.questdbB}.incomplete`
  await rm(incomplete, { recursive: true, force: true })
  await cp(folder.questdb, incomplete, { recursive: true, filter: (path) => !notCopied.has(basename(path)) })
  await rename(incomplete, folder.questdbB)
  finished('copied')
}

/** Throws an error with one sentence if a start without a cluster would leave out a part of a cluster's data. */
export function refuseClusterFolder(folder: DataFolder): void {
  if (!existsSync(folder.questdbB)) return
  throw new Error(
    `${folder.dir} is the data of a cluster, and its second QuestDB would miss what is reported now: start with --cluster, choose another --data-dir, or delete the data with --fresh.`,
  )
}
