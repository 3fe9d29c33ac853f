import { closeSync, ftruncateSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { newId } from '#core/ids'
import { type StatesReference, statesSuffix } from '#telemetry-log/checkpoints/checkpoint'
import { freeBytes } from '#telemetry-log/checkpoints/folder-bytes'
import { reservedDiskBytes } from '#telemetry-log/segments/log-budget'
import { readRange } from '#telemetry-log/segments/segments'
import { createStateBlock, readStateBlocks, type StateBlock, type StateChange } from './state-blocks.ts'

/**
 * The packed states of devices on disk, as the list of their changes, so that a restart of this process need not restore them from
 * the database. A checkpoint refers to a length of the file. The changes up to it have all that was known at the checkpoint, and
 * those behind it may be missing after a crash: then the file tells older states, or nothing of a device. The file is not synced:
 * after a crash of the machine it may be incomplete, which `load` notices.
 */
export type StateFile = {
  /**
   * Calls `visit` with the changes, once. Returns false if there is no complete file; changes that were visited are then not to be
   * used.
   */
  load(visit: (change: StateChange) => void): boolean
  add(change: StateChange): void
  /**
   * Continues to write a new file without outdated changes if the present one is mostly outdated. Call it regularly. `presentBytes`:
   * what the present states take. `present` returns them; it is read in parts, and later changes are also added by `add`.
   */
  tidy(monotonicMs: number, presentBytes: number, present: () => Iterator<StateChange>): void
  /** Writes all changes. Returns what the next checkpoint must say; undefined if no states are kept. */
  flush(): StatesReference | undefined
  /** The checkpoint that refers to this is durable, so files from before can be deleted. */
  release(reference: StatesReference | undefined): void
  close(): void
}

type StateFileOptions = {
  folder: string
  /** Of the checkpoint, if the database has all rows of it. */
  reference: StatesReference | undefined
  /** False after another process has taken over the partition. */
  mayWrite: () => boolean
  /** No states are kept any more. Called at most once. */
  onGivenUp: (error: unknown) => void
}

type OpenFile = { name: string; fd: number; bytes: number; blocks: number; pending: StateBlock; begunAtMs: number }

const largestBlockBytes = 1024 ** 2
/** States are not kept on a disk with less room than this, so that the log has it. */
const leastFreeBytes = 4 * reservedDiskBytes
const checkRoomEveryMs = 1_000
/** A new file is written when the present one has this much more than twice the states, or has outdated states for an hour. */
const outdatedBytes = 64 * 1024 ** 2
const longestOutdatedMs = 60 * 60_000
/** States that are written to a new file at once, in about 5 ms, and how often. More would delay the syncs of the log. */
const rewriteBatch = 2_000
const rewriteEveryMs = 200

/** Opens the file of a reference, or begins one. Deletes all other files of states in the folder. */
// Long because each part reads and changes the same open files and their positions.
export function openStateFile({ folder, reference, mayWrite, onGivenUp }: StateFileOptions): StateFile {
  const opened = new Set<OpenFile>()
  let current: OpenFile | undefined
  /** The new file, and the states that it does not have yet. */
  let next: OpenFile | undefined
  let unwritten: Iterator<StateChange> = [].values()
  let former: OpenFile | undefined
  let hasGivenUp = false
  let checkedAtMs = Number.NEGATIVE_INFINITY
  let rewroteAtMs = Number.NEGATIVE_INFINITY

  const pathOf = (name: string): string => join(folder, name)
  function open(name: string, flags: string): OpenFile {
    const fd = openSync(pathOf(name), flags, 0o600)
    const file = { name, fd, bytes: 0, blocks: 0, pending: createStateBlock(), begunAtMs: performance.now() }
    opened.add(file)
    return file
  }
  const begin = (): OpenFile => open(`${newId()}${statesSuffix}`, 'wx')
  function remove(file: OpenFile): void {
    opened.delete(file)
    closeSync(file.fd)
    rmSync(pathOf(file.name), { force: true })
  }

  /** Without room or after an error. A restart then restores all states from the database. */
  function giveUp(error: unknown): void {
    hasGivenUp = true
    for (const file of opened) remove(file)
    current = undefined
    next = undefined
    former = undefined
    onGivenUp(error)
  }
  /** Does the work, unless no states are kept. */
  function attempt(work: () => void): void {
    if (hasGivenUp) return
    try {
      work()
    } catch (error) {
      giveUp(error)
    }
  }

  function write(file: OpenFile): void {
    if (file.pending.bytes() === 0) return
    const block = file.pending.take(file.blocks)
    for (let written = 0; written < block.length; )
      written += writeSync(file.fd, block, written, block.length - written, file.bytes + written)
    file.bytes += block.length
    file.blocks += 1
  }
  function addTo(file: OpenFile | undefined, change: StateChange): void {
    if (!file) return
    file.pending.add(change)
    if (file.pending.bytes() >= largestBlockBytes && mayWrite()) write(file)
  }
  function requireRoom(): void {
    const nowMs = performance.now()
    if (nowMs - checkedAtMs < checkRoomEveryMs) return
    checkedAtMs = nowMs
    if (freeBytes(folder) < leastFreeBytes) throw new Error('The disk has little room.')
  }

  attempt(() => {
    for (const name of readdirSync(folder))
      if (name.endsWith(statesSuffix) && name !== reference?.name) rmSync(pathOf(name), { force: true })
  })

  return {
    load(visit) {
      let isComplete = false
      attempt(() => {
        if (reference && readdirSync(folder).includes(reference.name)) {
          const file = open(reference.name, 'r+')
          Object.assign(
            file,
            readStateBlocks((from, length) => readRange(file.fd, from, length), visit),
          )
          isComplete = file.bytes >= reference.bytes
          if (isComplete) {
            ftruncateSync(file.fd, file.bytes)
            current = file
          } else remove(file)
        }
        current ??= begin()
      })
      return isComplete && !hasGivenUp
    },
    add(change) {
      attempt(() => {
        addTo(current, change)
        addTo(next, change)
      })
    },
    tidy(monotonicMs, presentBytes, present) {
      attempt(() => {
        // A checkpoint may still refer to the former file.
        if (!current || former) return
        if (!next) {
          if (!isOutdated(current, monotonicMs, presentBytes)) return
          next = begin()
          unwritten = present()
        }
        if (monotonicMs - rewroteAtMs < rewriteEveryMs) return
        rewroteAtMs = monotonicMs
        for (let left = rewriteBatch; left > 0; left--) {
          const state = unwritten.next()
          if (!state.done) {
            addTo(next, state.value)
            continue
          }
          write(next)
          former = current
          current = next
          next = undefined
          return
        }
      })
    },
    flush() {
      if (!mayWrite()) return undefined
      attempt(() => {
        requireRoom()
        for (const file of [current, next]) if (file) write(file)
      })
      return current && { name: current.name, bytes: current.bytes }
    },
    release(durable) {
      attempt(() => {
        if (!former || durable?.name === former.name) return
        remove(former)
        former = undefined
      })
    },
    close() {
      for (const { fd } of opened) closeSync(fd)
      opened.clear()
      hasGivenUp = true
    },
  }
}

function isOutdated(file: OpenFile, monotonicMs: number, presentBytes: number): boolean {
  const bytes = file.bytes + file.pending.bytes()
  if (bytes >= 2 * presentBytes + outdatedBytes) return true
  return monotonicMs - file.begunAtMs > longestOutdatedMs && bytes > presentBytes
}
