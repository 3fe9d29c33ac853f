import { readdirSync, readFileSync } from 'node:fs'

/** CPU seconds since the start, by what used them. */
export type CpuSeconds = Map<string, number>

type Process = { pid: number; parentPid: number; name: string; seconds: number }

const ticksPerSecond = 100

/**
 * Returns the CPU seconds of a process and of its descendants, by program (Linux). Node programs have the name of their
 * app, and the processes of Postgres are one program. Processes that ended count for the parent that waited for them.
 */
export function cpuByProgram(rootPid: number): CpuSeconds {
  const processes = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []))
  const found: CpuSeconds = new Map()
  const add = (process: Process) => {
    found.set(process.name, (found.get(process.name) ?? 0) + process.seconds)
    for (const child of processes) if (child.parentPid === process.pid) add(child)
  }
  for (const process of processes) if (process.pid === rootPid) add(process)
  return found
}

/** Returns the CPU seconds of the main thread of a process (Linux). */
export const cpuOfMainThread = (pid: number): number => readStat(`/proc/${pid}/task/${pid}/stat`)?.seconds ?? 0

/** Returns the CPU seconds of the threads of a process by the thread's name without its number (Linux). */
export function cpuByThread(pid: number): CpuSeconds {
  const found: CpuSeconds = new Map()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readStat(`/proc/${pid}/task/${thread}/stat`)
    if (!stat) continue
    const name = stat.command.replace(/[-_#\s]*\d+$/, '')
    found.set(name, (found.get(name) ?? 0) + stat.seconds)
  }
  return found
}

/** Returns the pid of the first descendant whose program has this name. */
export function findDescendant(rootPid: number, program: string): number | undefined {
  const processes = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []))
  const parentOf = new Map(processes.map(({ pid, parentPid }) => [pid, parentPid]))
  const isBelow = (pid: number | undefined): boolean => pid === rootPid || (!!pid && isBelow(parentOf.get(pid)))
  return processes.find(({ pid, name }) => name === program && isBelow(pid))?.pid
}

/** Returns what was used between two readings, in percent of one core. */
export function percentOfCore(
  before: CpuSeconds,
  after: CpuSeconds,
  seconds: number,
): [name: string, percent: number][] {
  return [...after]
    .map(([name, used]): [string, number] => [name, (100 * (used - (before.get(name) ?? 0))) / seconds])
    .sort((a, b) => b[1] - a[1])
}

function readProcess(pid: number): Process[] {
  const stat = readStat(`/proc/${pid}/stat`)
  if (!stat) return []
  let commandLine = ''
  try {
    commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return []
  }
  const { parentPid, seconds, endedChildrenSeconds } = stat
  const name = programOf(stat.command, commandLine)
  // Postgres ends many short-lived workers, which its main process waits for.
  return [{ pid, parentPid, name, seconds: seconds + endedChildrenSeconds }]
}

function programOf(command: string, commandLine: string): string {
  if (commandLine.includes('io.questdb')) return 'questdb'
  if (command === 'postgres') return 'postgres'
  return /apps\/([a-z-]+)\//.exec(commandLine)?.[1] ?? command
}

function readStat(path: string) {
  try {
    const text = readFileSync(path, 'latin1')
    const command = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = (index: number) => Number(fields[index]) / ticksPerSecond
    return {
      command,
      parentPid: Number(fields[1]),
      seconds: ticks(11) + ticks(12),
      endedChildrenSeconds: ticks(13) + ticks(14),
    }
  } catch {
    // The process or thread ended after it was listed.
    return undefined
  }
}
