import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** A third of the share of others, and only while they want more than the machine has. */
const niceness = 5

/**
 * Lets a process that was just started yield busy cores to the others. The device edge must answer in time; what the database
 * applies later waits in the log. Does nothing where the system does not allow it.
 */
export function yieldCores(pid: number): void {
  try {
    // Threads that start later inherit it.
    setPriority(pid, niceness)
    // Linux can share the cores between sessions first. The process has a session of its own, whose share this is.
    if (process.platform === 'linux') writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // The process has ended, or the system has no such shares.
  }
}
