import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ProcessIdentity } from '#telemetry-log/process-identity'

/*
 * The lock of a folder is a file named by a generation that only grows: `lock-0000000000000007`. The highest generation
 * holds the folder. Taking over means creating the next generation, which the file system lets exactly one process do;
 * a process that was frozen between its decision and that step finds the name taken. The newest file is never deleted,
 * also not by a clean stop, so that a generation is never given twice.
 */

export type LockFile = { path: string; generation: number }

const namePattern = /^lock-(\d{16})$/

export const lockPath = (folder: string, generation: number): string =>
  join(folder, `lock-${String(generation).padStart(16, '0')}`)

/** The lock file of the highest generation, or undefined in a folder that was never locked. */
export function newestLock(folder: string): LockFile | undefined {
  const generation = generationsIn(folder).at(-1)
  return generation === undefined ? undefined : { generation, path: lockPath(folder, generation) }
}

const generationsIn = (folder: string): number[] =>
  readdirSync(folder)
    .flatMap((name) => namePattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)

const identitySchema = z.object({
  pid: z.number(),
  host: z.string(),
  boot: z.string(),
  pidNamespace: z.string(),
  startedTicks: z.string(),
})

/** What a lock file says: who holds it, that its holder stopped cleanly, or nothing that can be read. */
export type LockContent = { kind: 'held'; by: ProcessIdentity } | { kind: 'released' } | { kind: 'unreadable' }

/** Reads a lock file; one that is gone or was cut off by a crash is `unreadable`. */
export function readLock(path: string): LockContent {
  try {
    const text = readFileSync(path, 'utf8')
    return text.trim() === released
      ? { kind: 'released' }
      : { kind: 'held', by: identitySchema.parse(JSON.parse(text)) }
  } catch {
    return { kind: 'unreadable' }
  }
}

const released = 'released'

/**
 * Creates the lock file of `generation` and returns its open descriptor, or undefined when another process has that
 * generation or a later one.
 */
export function claimLock(folder: string, generation: number, own: ProcessIdentity): number | undefined {
  const path = lockPath(folder, generation)
  const fd = createExclusively(path)
  if (fd === undefined) return undefined
  if (newestLock(folder)?.generation !== generation) {
    closeSync(fd)
    rmSync(path, { force: true })
    return undefined
  }
  try {
    writeSync(fd, JSON.stringify(own), 0)
  } catch {
    // The disk is full. The name is what counts; without the content others must wait until the lock is stale.
  }
  return fd
}

function createExclusively(path: string): number | undefined {
  try {
    return openSync(path, 'wx')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
    throw error
  }
}

/** Deletes the lock files of earlier generations. */
export function deleteOlderLocks(folder: string, generation: number): void {
  for (const older of generationsIn(folder)) if (older < generation) rmSync(lockPath(folder, older), { force: true })
}

/** Says in the lock file that its holder stopped cleanly, so that the next one need not wait. */
export function markReleased(fd: number): void {
  try {
    writeSync(fd, released, 0)
    ftruncateSync(fd, released.length)
  } catch {
    // Others find out that the process has ended, or wait until the lock is stale.
  }
}

/** True when the folder has gone to a later generation. Needs no descriptor, so it also works when none is left. */
export const isSuperseded = (folder: string, generation: number): boolean =>
  exists(lockPath(folder, generation + 1)) || !exists(lockPath(folder, generation))

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
