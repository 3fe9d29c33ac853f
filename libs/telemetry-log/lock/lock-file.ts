import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ProcessIdentity } from './process-identity.ts'

/*
 * The lock of a folder is a file named by a generation that only grows: `lock-0000000000000007`. The highest generation
 * holds the folder. A process takes over by creating the file of the next generation, in which only one process can
 * succeed, even after a freeze between decision and creation. The newest file is never deleted, so that a generation is
 * never used twice.
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

/** The content of a lock file: its holder, `released` after a clean stop, or `unreadable`. */
export type LockContent = { kind: 'held'; by: ProcessIdentity } | { kind: 'released' } | { kind: 'unreadable' }

/** Reads a lock file. A missing or incomplete file is `unreadable`. */
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
    // The disk is full. The file name is sufficient; without the content, other processes wait until the lock is stale.
  }
  return fd
}

function createExclusively(path: string): number | undefined {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
    throw error
  }
}

/** Deletes the lock files of earlier generations. */
export function deleteOlderLocks(folder: string, generation: number): void {
  for (const older of generationsIn(folder)) if (older < generation) rmSync(lockPath(folder, older), { force: true })
}

/** Marks the lock file as released, so that the next process need not wait. */
export function markReleased(fd: number): void {
  try {
    writeSync(fd, released, 0)
    ftruncateSync(fd, released.length)
  } catch {
    // Other processes detect that this one has ended, or wait until the lock is stale.
  }
}

/** Returns whether a later generation exists. Needs no file descriptor, so it works when none is available. */
export const isSuperseded = (folder: string, generation: number): boolean =>
  exists(lockPath(folder, generation + 1)) || !exists(lockPath(folder, generation))

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
