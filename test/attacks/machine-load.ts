import { readFileSync } from 'node:fs'
import { withDescendants } from '#test/process-tree'

export type MachineLoad = {
  reset(): void
  /** The share of the processors that other programs used since `reset`, 0 to 1; 0 if it is not known. */
  othersShare(): number
}

type Ticks = { all: number; idle: number; ours: number }

/** Measures how much of the machine other programs use: all processes outside the process tree of `root`. */
export function watchMachineLoad(root: number): MachineLoad {
  let before = ticks(root)
  return {
    reset() {
      before = ticks(root)
    },
    othersShare() {
      const now = ticks(root)
      const all = now.all - before.all
      if (all <= 0) return 0
      const others = all - (now.idle - before.idle) - Math.max(0, now.ours - before.ours)
      return Math.min(1, Math.max(0, others / all))
    },
  }
}

function ticks(root: number): Ticks {
  try {
    const line = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0] ?? ''
    // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; user includes guest.
    const fields = line.trim().split(/\s+/).slice(1, 9).map(Number)
    return {
      all: fields.reduce((sum, field) => sum + field, 0),
      idle: (fields[3] ?? 0) + (fields[4] ?? 0),
      ours: withDescendants(root).reduce((sum, pid) => sum + ticksOf(pid), 0),
    }
  } catch {
    return { all: 0, idle: 0, ours: 0 }
  }
}

/** Returns the CPU ticks of a process and its exited children; 0 if it has exited. */
function ticksOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0)
  } catch {
    return 0
  }
}
