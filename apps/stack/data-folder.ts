import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { commandLine } from './engines/command-line.ts'

/** Where everything a started product keeps lies; all of it below one folder. */
export type DataFolder = {
  dir: string
  postgres: string
  questdb: string
  telemetryLog: string
  demoFleet: string
  secrets: string
  logs: string
  /** A file per app that runs now, with its process id. */
  run: string
  accessFile: string
}

export const dataFolder = (dir: string): DataFolder => ({
  dir,
  postgres: join(dir, 'postgres'),
  questdb: join(dir, 'questdb'),
  telemetryLog: join(dir, 'telemetry-log'),
  demoFleet: join(dir, 'demo-fleet'),
  secrets: join(dir, 'secrets'),
  logs: join(dir, 'logs'),
  run: join(dir, 'run'),
  accessFile: join(dir, 'access.json'),
})

/** Held from start to stop: `release` gives the folder free, `stopping` tells a waiting start that it soon will be. */
export type Lock = { stopping(): Promise<void>; release(): Promise<void> }

const supervisor = 'apps/stack/main.ts'
// A supervisor that was just killed, or whose starter was, needs this long to be gone.
const graceMs = 1_500
const stoppingDeadlineMs = 60_000

/**
 * Takes the folder for this process; two starts on one folder would corrupt it. Waits for a start that is just
 * stopping, takes over from one that was killed, and throws one sentence when it is in use.
 */
export async function lockDataFolder(folder: DataFolder): Promise<Lock> {
  await mkdir(folder.run, { recursive: true })
  const lockFile = join(folder.dir, 'lock')
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

async function tryLock(lockFile: string): Promise<boolean> {
  // Written aside and linked, so that nobody ever reads a lock without its holder in it.
  const claim = `${lockFile}.${process.pid}`
  await writePrivate(claim, `${process.pid} running\n`)
  try {
    await link(claim, lockFile)
    return true
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    const [pid] = await readLock(lockFile)
    const alive = pid !== process.pid && (await commandLine(pid))?.includes(supervisor)
    if (!alive) await rm(lockFile, { force: true })
    return false
  } finally {
    await rm(claim, { force: true })
  }
}

async function readLock(lockFile: string): Promise<[pid: number, state: string]> {
  const [pid = '', state = ''] = (await readFile(lockFile, 'utf8').catch(() => '')).trim().split(' ')
  return [Number(pid), state]
}

/** Removes what earlier starts kept, and nothing else: the folder may be one that holds other people's files too. */
export async function emptyDataFolder(folder: DataFolder): Promise<void> {
  const { dir: _, ...kept } = folder
  await Promise.all(Object.values(kept).map((path) => rm(path, { recursive: true, force: true })))
}

/** Writes a file that only its owner may read; a reader finds the old text or the new one, never a part. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const building = `${path}.new`
  await writeFile(building, text, { mode: 0o600, flush: true })
  await rename(building, path)
}
