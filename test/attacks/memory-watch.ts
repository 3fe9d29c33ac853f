import { readFileSync } from 'node:fs'
import { withDescendants } from '#test/process-tree'
import type { Memory } from './bystander-messages.ts'

export type MemoryWatch = {
  reset(): void
  /** By process name; `tree` includes all of them and their children. */
  figures(): Record<string, Memory>
  follow(pids: Record<string, number>): void
}

const everyMs = 200
const treeEveryMs = 1_000
const kibPerMib = 1_024

/** Samples the resident memory of processes. Linux only; elsewhere all figures are 0. */
export function watchMemory(first: Record<string, number>): MemoryWatch {
  let pids = first
  const kib = new Map<string, { before: number; peak: number }>()

  function note(name: string, value: number): void {
    const known = kib.get(name)
    if (known === undefined) kib.set(name, { before: value, peak: value })
    else known.peak = Math.max(known.peak, value)
  }
  const sample = () => {
    for (const [name, pid] of Object.entries(pids)) note(name, residentKib(pid))
  }
  const sampleTree = () => {
    const all = Object.values(pids).flatMap(withDescendants)
    note(
      'tree',
      all.reduce((sum, pid) => sum + privateKib(pid), 0),
    )
  }
  setInterval(sample, everyMs)
  setInterval(sampleTree, treeEveryMs)
  return {
    reset() {
      kib.clear()
      sample()
      sampleTree()
    },
    figures: () =>
      Object.fromEntries(
        [...kib].map(([name, { before, peak }]) => [
          name,
          { beforeMib: before / kibPerMib, peakMib: peak / kibPerMib, grownMib: (peak - before) / kibPerMib },
        ]),
      ),
    follow(next) {
      pids = next
    },
  }
}

/** Returns the resident memory; 0 if the process has exited. */
const residentKib = (pid: number): number => statusKib(pid, ['VmRSS'])

/** Returns the resident memory without shared memory, which every Postgres process would count again. */
const privateKib = (pid: number): number => statusKib(pid, ['RssAnon', 'RssFile'])

function statusKib(pid: number, names: readonly string[]): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    return names.reduce((sum, name) => sum + Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0), 0)
  } catch {
    return 0
  }
}
