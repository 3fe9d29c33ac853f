import { closeSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { toError } from '#core/error-text'
import { LogInUseError } from '#telemetry-log/log'
import { confirmedForMs, createLease, type Lease } from './lease.ts'
import {
  claimLock,
  deleteOlderLocks,
  isSuperseded,
  type LockFile,
  markReleased,
  newestLock,
  readLock,
} from './lock-file.ts'
import { hasEnded, isSameProcess, ownIdentity, type ProcessIdentity } from './process-identity.ts'

export type FolderLock = {
  lease: Lease
  /** Whether the previous holder may still run and write to its files. */
  mayHaveRival: boolean
  /** Resolves when another process has taken the lock. */
  lost: Promise<Error>
  /** Releases the lock, so that the next process can take it at once. */
  release(): Promise<void>
}

const beatMs = 1_000
/** A lock without a heartbeat for this time may be taken over. With `confirmedForMs`, it limits the wait after a crash. */
const staleAfterMs = 6_000
const pollMs = 100
/** Tools that open and close a log at once do not start the heartbeat thread. */
const firstBeatAfterMs = 250

/**
 * Makes this process the only writer of `folder`. Throws LogInUseError if another running process holds it.
 *
 * A holder that has stopped or ended is replaced at once. If that cannot be known, because it ran in another container or
 * on another machine, it is replaced when its lock is stale, after 9 s in all.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const own = ownIdentity()
  for (;;) {
    const current = newestLock(folder)
    const state = current ? await watchHolder(folder, current, own) : firstState(folder, own)
    if (state === 'changed') continue
    const generation = (current?.generation ?? 0) + 1
    const fd = claimLock(folder, generation, own)
    if (fd === undefined) continue
    // A slow holder stops within this time. Until then it may acknowledge data that it has written.
    if (state === 'stale') await delay(confirmedForMs)
    if (isSuperseded(folder, generation)) {
      closeSync(fd)
      continue
    }
    deleteOlderLocks(folder, generation)
    return holdLock(folder, generation, fd, state === 'stale')
  }
}

type HolderState = 'ended' | 'stale' | 'changed'

/** Watches the newest lock until the state of its holder is known. Throws if the holder is running. */
async function watchHolder(folder: string, { path, generation }: LockFile, own: ProcessIdentity): Promise<HolderState> {
  const beatAtStart = beatOf(path)
  const startedMs = performance.now()
  for (;;) {
    const content = readLock(path)
    const beat = beatOf(path)
    const watchedMs = performance.now() - startedMs
    if (newestLock(folder)?.generation !== generation) return 'changed'
    if (content.kind === 'released') return 'ended'
    const holder = content.kind === 'held' ? content.by : undefined
    if (holder && hasEnded(holder, own)) return 'ended'
    if (beat !== beatAtStart || (holder && isSameProcess(holder, own))) throw inUse(folder, holder)
    if (watchedMs >= staleAfterMs) return 'stale'
    await delay(pollMs)
  }
}

const beatOf = (path: string): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs

const inUse = (folder: string, holder: Pick<ProcessIdentity, 'pid' | 'host'> | undefined) =>
  new LogInUseError(folder, holder ? `process ${holder.pid} on ${holder.host}` : 'another process')

/** Checks the file `lock` of an earlier version in a folder without a lock of this version. */
function firstState(folder: string, own: ProcessIdentity): HolderState {
  const path = join(folder, 'lock')
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(path, 'utf8')) as { pid: number; startedAt: string }
    const [boot, startedTicks = ''] = startedAt.split(':')
    const holder = { ...own, pid, boot: boot ?? '', startedTicks }
    if (pid !== own.pid && boot === own.boot && !hasEnded(holder, own)) throw inUse(folder, holder)
  } catch (error) {
    if (error instanceof LogInUseError) throw error
  }
  rmSync(path, { force: true })
  return 'ended'
}

function holdLock(folder: string, generation: number, fd: number, mayHaveRival: boolean): FolderLock {
  const lease = createLease(folder, generation)
  let beating: Worker | undefined
  let signalLoss: (error: Error) => void = () => {}
  const lost = new Promise<Error>((resolve) => {
    signalLoss = resolve
  })
  const starting = setTimeout(() => {
    beating = new Worker(new URL('./lock-beat.ts', import.meta.url), { workerData: { fd, lease, beatMs } })
    beating.unref()
    beating.on('message', () => signalLoss(new Error(`Another process has taken over the telemetry log ${folder}.`)))
    beating.on('error', (error) => signalLoss(toError(error)))
  }, firstBeatAfterMs).unref()
  return {
    lease,
    mayHaveRival,
    lost,
    async release() {
      clearTimeout(starting)
      await beating?.terminate()
      if (!isSuperseded(folder, generation)) markReleased(fd)
      closeSync(fd)
    },
  }
}
