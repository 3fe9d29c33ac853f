import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Makes this process the only one that writes in `folder`; throws one sentence when another living process holds it.
 * A lock left by a process that is gone, or whose id was given to somebody else meanwhile, is taken over.
 * Returns the function that releases it.
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, 'lock')
  const own = JSON.stringify({ pid: process.pid, startedAt: startOf(process.pid) })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, own)
  try {
    // A link appears whole or not at all, so nobody reads a half-written lock.
    for (let tries = 0; tries < 3; tries++) {
      try {
        linkSync(draft, path)
        return () => rmSync(path, { force: true })
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      }
      const holder = readHolder(path)
      if (holder !== undefined && isAlive(holder)) {
        throw new Error(
          `The telemetry log ${folder} is in use by process ${holder.pid}; stop it or choose another folder.`,
        )
      }
      rmSync(path, { force: true })
    }
  } finally {
    rmSync(draft, { force: true })
  }
  throw new Error(`The telemetry log ${folder} could not be locked: another process keeps taking it.`)
}

type Holder = { pid: number; startedAt: string }

function readHolder(path: string): Holder | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof parsed !== 'object' || parsed === null || !('pid' in parsed) || !('startedAt' in parsed))
      return undefined
    return typeof parsed.pid === 'number' ? { pid: parsed.pid, startedAt: String(parsed.startedAt) } : undefined
  } catch {
    return undefined
  }
}

function isAlive(holder: Holder): boolean {
  // In a container every process of the app may get the same id again, so the id alone proves nothing.
  if (holder.pid === process.pid || holder.startedAt !== startOf(holder.pid)) return false
  try {
    process.kill(holder.pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Boot id and start tick of a living process where /proc tells them (a zombie is 'gone'); elsewhere '' for all. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return 'gone'
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`
  } catch {
    return ''
  }
}
