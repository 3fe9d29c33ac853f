import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isCode, replaceFile } from '#files/durable-file'
import { commandLine } from './engines/command-line.ts'

/** The paths of all data of a running product. All of them are below one folder. */
export type DataFolder = {
  dir: string
  postgres: string
  questdb: string
  /** The second copy of QuestDB in a cluster. The first is `questdb`. */
  questdbB: string
  kafka: string
  redis: string
  telemetryLog: string
  /** Data that `apps/writer` could not store. */
  telemetryWriter: string
  demoFleet: string
  secrets: string
  logs: string
  /** One file per running app, with its process id. */
  run: string
  accessFile: string
  /** The addresses of the databases while the product runs. */
  databasesFile: string
}

export const dataFolder = (dir: string): DataFolder => ({
  dir,
  postgres: join(dir, 'postgres'),
  questdb: join(dir, 'questdb'),
  questdbB: join(dir, 'questdb-b'),
  kafka: join(dir, 'kafka'),
  redis: join(dir, 'redis'),
  telemetryLog: join(dir, 'telemetry-log'),
  telemetryWriter: join(dir, 'telemetry-writer'),
  demoFleet: join(dir, 'demo-fleet'),
  secrets: join(dir, 'secrets'),
  logs: join(dir, 'logs'),
  run: join(dir, 'run'),
  accessFile: join(dir, 'access.json'),
  databasesFile: join(dir, 'databases.json'),
})

/** The lock on a data folder. `stopping` tells a waiting start that this process will call `release` soon. */
export type Lock = { stopping(): Promise<void>; release(): Promise<void> }

const supervisor = 'apps/stack/main.ts'
// A supervisor needs up to this time to exit after it, or its parent, was killed.
const graceMs = 1_500
const stoppingDeadlineMs = 60_000

/**
 * Locks the folder for this process, because two starts on one folder would corrupt it. Waits for a start that is
 * stopping and takes the lock of one that was killed. Throws an error with one sentence if the folder is in use.
 */
export async function lockDataFolder(folder: DataFolder): Promise<Lock> {
  await mkdir(folder.run, { recursive: true, mode: 0o700 })
  const lockFile = lockFileOf(folder)
  const startedWaitingAt = Date.now()
  while (!(await tryLock(lockFile))) {
    const [pid, state] = await readLock(lockFile)
    const patienceMs = state === 'stopping' ? stoppingDeadlineMs : graceMs
    if (Date.now() - startedWaitingAt > patienceMs) {
      throw new Error(
        `${folder.dir} is in use by process ${pid}: stop that one, or choose another --data-dir and --port.`,
      )
    }
    await pause(100)
  }
  return {
    stopping: () => writeFile(lockFile, `${process.pid} stopping\n`),
    release: () => rm(lockFile, { force: true }),
  }
}

/** Returns whether a start runs on the folder. */
export const isInUse = async (folder: DataFolder): Promise<boolean> => isAlive((await readLock(lockFileOf(folder)))[0])

const lockFileOf = (folder: DataFolder): string => join(folder.dir, 'lock')

const isAlive = async (pid: number): Promise<boolean> => (await commandLine(pid))?.includes(supervisor) ?? false

async function tryLock(lockFile: string): Promise<boolean> {
  // Write a separate file and link it, so that no reader finds a lock without the id of its holder.
  const claim = `${lockFile}.${process.pid}`
  await replaceFile(claim, `${process.pid} running\n`)
  try {
    await link(claim, lockFile)
    return true
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    const [pid] = await readLock(lockFile)
    if (pid === process.pid || !(await isAlive(pid))) await rm(lockFile, { force: true })
    return false
  } finally {
    await rm(claim, { force: true })
  }
}

async function readLock(lockFile: string): Promise<[pid: number, state: string]> {
  const [pid = '', state = ''] = (await readFile(lockFile, 'utf8').catch(() => '')).trim().split(' ')
  return [Number(pid), state]
}

/**
 * Restricts the folders of the data to their owner, in a folder of an earlier version too. The files in them cannot be reached
 * then, so their modes do not matter. A start of Postgres as another user lets this user pass.
 */
export async function restrictDataFolder(folder: DataFolder): Promise<void> {
  for (const path of Object.values(folder)) {
    const known = await stat(path).catch(() => undefined)
    if (known?.isDirectory() && known.mode & 0o077) await chmod(path, 0o700).catch(unlessForeign)
  }
}

/** The root of a volume can belong to another user, who decides about it. */
function unlessForeign(error: unknown): void {
  if (!isCode(error, 'EPERM')) throw error
}

/** Removes the data of earlier starts and leaves all other files in the folder. */
export async function emptyDataFolder(folder: DataFolder): Promise<void> {
  const { dir: _, ...kept } = folder
  await Promise.all(Object.values(kept).map((path) => rm(path, { recursive: true, force: true })))
}
