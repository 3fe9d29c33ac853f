import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { syncFolder } from '#files/private-folder'
import { removeCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import type { DeadLetterPlace } from '#telemetry-log/dead-letters/dead-letters'
import { LogLayoutError } from '#telemetry-log/log'
import { listSegments } from './segments.ts'

const fileName = 'layout.json'
/** The layout without a file: one partition, whose segments are in the folder of the log. */
const root = '.'
const partitionsName = /^partitions-(\d+)$/

const layoutSchema = z.object({
  partitions: z.number().int().min(1),
  /** The folder of the partitions, relative to the folder of the log. */
  folder: z.string(),
  /** The folder of the partitions before a change of their number, until it is deleted. */
  previous: z.string().optional(),
})

/** How many partitions a log has, and where they are. */
export type Layout = z.infer<typeof layoutSchema>

/** Where one partition has its segments, checkpoint and dead letters. */
export type PartitionPlace = DeadLetterPlace & { folder: string }

/** Returns the layout of a log. Throws if its file is damaged or lost. */
export function readLayout(logFolder: string): Layout {
  const path = join(logFolder, fileName)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    if (listSegments(logFolder).length > 0 || !readdirSync(logFolder).some((name) => partitionsName.test(name)))
      return { partitions: 1, folder: root }
    throw new LogLayoutError(`${path} is missing, but the folder has partitions. Restore the file from a backup.`)
  }
  return layoutSchema.parse(JSON.parse(text))
}

/** Replaces the layout durably: a crash leaves the old one or the new one. */
export function writeLayout(logFolder: string, layout: Layout): void {
  const path = join(logFolder, fileName)
  writeFileSync(`${path}.next`, `${JSON.stringify(layout)}\n`, { mode: 0o600, flush: true })
  renameSync(`${path}.next`, path)
  syncFolder(logFolder)
}

/** Returns the places of all partitions of a layout. */
export const placesOf = (logFolder: string, { partitions, folder }: Layout): PartitionPlace[] =>
  Array.from({ length: partitions }, (_, partition) => ({
    logFolder,
    partition,
    folder: folder === root ? logFolder : join(logFolder, folder, String(partition)),
  }))

/** Whether a partition has no segments yet. */
export const isEmpty = ({ folder }: PartitionPlace): boolean => !existsSync(folder) || listSegments(folder).length === 0

/** Returns the layout with another number of partitions, in a folder that no earlier layout had. */
export function nextLayout({ folder }: Layout, partitions: number): Layout {
  const generation = Number(partitionsName.exec(folder)?.[1] ?? 0) + 1
  return { partitions, folder: `partitions-${generation}`, previous: folder }
}

/** Deletes what a change of the number of partitions left behind. Repeating it after a crash completes it. */
export function deletePrevious(logFolder: string, layout: Layout): Layout {
  const { previous, ...current } = layout
  if (previous === undefined) return layout
  if (previous === root) {
    for (const { path } of listSegments(logFolder)) rmSync(path)
    removeCheckpoint(logFolder)
    syncFolder(logFolder)
  } else deletePartitions(logFolder, previous)
  writeLayout(logFolder, current)
  return current
}

/** Deletes a folder of partitions, if it exists. */
export function deletePartitions(logFolder: string, folder: string): void {
  rmSync(join(logFolder, folder), { recursive: true, force: true })
  syncFolder(logFolder)
}

/** Throws if an earlier version, which ignores the layout, has written to the folder since the number was changed. */
export function refuseStraySegments(logFolder: string, { folder }: Layout): void {
  if (folder === root || listSegments(logFolder).length === 0) return
  throw new LogLayoutError(
    `An earlier version has written to the telemetry log ${logFolder} after its partitions were created. Move its *.segment and checkpoint.slots files to an empty folder and start the earlier version there until telemetry_backlog_samples is 0.`,
  )
}
