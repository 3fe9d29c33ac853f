import type { FileHandle } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { deadLetterFolder } from '#telemetry-log/dead-letters/dead-letters'
import { placesOf, readLayout } from '#telemetry-log/segments/layout'
import { listSegments } from '#telemetry-log/segments/segments'
import type { BackupWriter } from './backup-folder.ts'
import { addFileIfAny, addFolder, openIfAny, readUntil } from './source-files.ts'

/** The folder of the telemetry log in a backup. */
export const logPath = 'telemetry-log'

const checkpointFiles = ['checkpoint.slots', 'checkpoint.json']

/**
 * Adds a telemetry log that ingest writes to: the segments of each partition up to their present end, then its checkpoint,
 * then the dead letters. Everything before a checkpoint is stored, so a checkpoint later than the segments loses nothing.
 */
export async function addTelemetryLog(logFolder: string, backup: BackupWriter): Promise<void> {
  const layout = readLayout(logFolder)
  const pathOf = (path: string) => `${logPath}/${relative(logFolder, path)}`
  for (const { folder } of placesOf(logFolder, layout)) {
    const segments = await openSegments(folder)
    try {
      for (const { path, file, bytes } of segments) await backup.add(pathOf(path), readUntil(file, bytes))
    } finally {
      for (const { file } of segments) await file.close()
    }
    for (const name of checkpointFiles) await addFileIfAny(backup, pathOf(join(folder, name)), join(folder, name))
  }
  const deadLetters = deadLetterFolder(logFolder)
  await addFolder(backup, pathOf(deadLetters), deadLetters)
  await addFileIfAny(backup, pathOf(join(logFolder, 'layout.json')), join(logFolder, 'layout.json'))
  if (JSON.stringify(readLayout(logFolder)) !== JSON.stringify(layout))
    throw new Error('The number of log partitions changed during the backup: run the backup again.')
}

type OpenSegment = { path: string; file: FileHandle; bytes: number }

/**
 * Opens all segments at once, so that none of them disappears while others are copied. Newest first, because the writer
 * deletes the oldest ones when it has stored them.
 */
async function openSegments(folder: string): Promise<OpenSegment[]> {
  const opened: OpenSegment[] = []
  for (const { path } of listSegments(folder).toReversed()) {
    const file = await openIfAny(path)
    if (!file) break
    opened.unshift({ path, file, bytes: (await file.stat()).size })
  }
  return opened
}
