import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * Identifies a process among all processes that can reach a folder. A process id is not sufficient: every container has a
 * process 1. Members are '' if the system does not provide them.
 */
export type ProcessIdentity = {
  pid: number
  host: string
  /** The kernel's id of its current boot. */
  boot: string
  /** The namespace in which `pid` counts. */
  pidNamespace: string
  /** Start time in clock ticks since the boot. */
  startedTicks: string
}

/** The identity of this process. */
export const ownIdentity = (): ProcessIdentity => ({
  pid: process.pid,
  host: hostname(),
  boot: textOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
  pidNamespace: textOf(() => readlinkSync('/proc/self/ns/pid')),
  startedTicks: statOf(process.pid)?.startedTicks ?? '',
})

/** Returns whether both certainly identify the same process. */
export const isSameProcess = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  isSameNamespace(a, b) && a.pid === b.pid && a.startedTicks !== '' && a.startedTicks === b.startedTicks

/**
 * Returns whether the process with all its threads has certainly ended. Only a process of the same boot and namespace can
 * detect that. False if it runs or if its state is unknown.
 */
export function hasEnded(other: ProcessIdentity, own: ProcessIdentity): boolean {
  if (!isSameNamespace(other, own) || other.startedTicks === '') return false
  const stat = statOf(other.pid)
  if (stat === undefined) return !isSignalable(other.pid)
  if (stat.startedTicks !== other.startedTicks) return true
  // A killed process is a zombie while one of its threads still writes.
  return /[ZX]/.test(stat.state) && threadCount(other.pid) <= 1
}

const isSameNamespace = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.boot !== '' && a.boot === b.boot && a.pidNamespace !== '' && a.pidNamespace === b.pidNamespace

function statOf(pid: number): { state: string; startedTicks: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', startedTicks: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

function threadCount(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

/** /proc may hide processes of other users, but a signal still finds them. */
function isSignalable(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

function textOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
