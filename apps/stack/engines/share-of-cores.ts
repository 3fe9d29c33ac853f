import { readdirSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** A third of the share of others, and only while they want more than the machine has. */
const niceness = 5
const isLinux = process.platform === 'linux'

/**
 * Lets a process yield busy cores to the others. The device edge must answer in time; what the database applies later waits in the
 * log. Call it when the process is ready: the others wait for its start. Does nothing where the system does not allow it.
 */
export function yieldCores(pid: number): void {
  try {
    // Threads that start later inherit it.
    for (const thread of threadsOf(pid)) setPriority(thread, niceness)
    // Linux can share the cores between sessions first. The process has a session of its own, whose share this is.
    if (isLinux) writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // The process or a thread has ended, or the system has no such shares.
  }
}

/** Linux has a priority for each thread. */
const threadsOf = (pid: number): number[] => (isLinux ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid])
