import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '#test/until'
import { commandLine } from '../../../apps/stack/engines/command-line.ts'

/** A process of the cluster. `pidFile` contains the id of its current process. */
type Part = { pidFile: string; pid: number }

export type Parts = {
  /** A running process of an app or an engine, such as `ingest` or `kafka`. `index` selects one if there are several. */
  partOf(name: string, index: number): Promise<Part>
  /** Waits until another process has replaced this one, which a fault has killed. */
  replaced(part: Part): Promise<void>
  /** Starts to watch all running parts. */
  watch(): void
  /** Describes the parts that ended or were restarted since `watch`, except for replacements of killed ones. */
  unexpected(): Promise<string[]>
}

const replacedLimitMs = 120_000
const pidFilesOfAll = ['run/*', '*/pid', '*/*/pid']

/** The processes of a product that runs on this data folder. */
export function openParts(folder: string): Parts {
  let watched = new Map<string, number>()

  const find = (patterns: string[]): Part[] => {
    // The copy that requests prefer is first: `questdb` before `questdb-b`.
    const files = globSync(patterns, { cwd: folder }).toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    return files.map((file) => ({ pidFile: file, pid: readPid(join(folder, file)) }))
  }
  // The system may have reused the id of a process that has ended.
  const runs = async ({ pid }: Part) => (await commandLine(pid))?.includes(folder) ?? false

  return {
    async partOf(name, index) {
      const parts: Part[] = []
      for (const part of find([`run/${name}`, `run/${name}-*`, `${name}*/pid`, `${name}*/*/pid`]))
        if (await runs(part)) parts.push(part)
      const part = parts[index % parts.length]
      if (!part) throw new Error(`No process of ${name} runs.`)
      return part
    },
    async replaced({ pidFile, pid }) {
      const isReplaced = async () => {
        const now = readPid(join(folder, pidFile))
        if (now === pid || !(await runs({ pidFile, pid: now }))) return false
        watched.set(pidFile, now)
        return true
      }
      await until(`${pidFile} names another process`, isReplaced, replacedLimitMs)
    },
    watch() {
      watched = new Map(find(pidFilesOfAll).map(({ pidFile, pid }) => [pidFile, pid]))
    },
    async unexpected() {
      const found: string[] = []
      for (const [pidFile, pid] of watched) {
        const now = { pidFile, pid: readPid(join(folder, pidFile)) }
        const runsNow = await runs(now)
        if (now.pid === pid && runsNow) continue
        found.push(`${nameOf(pidFile)} ${runsNow ? 'was restarted' : 'does not run'}`)
      }
      return found
    },
  }
}

const nameOf = (pidFile: string): string => pidFile.replace(/^run\//, '').replace(/\/pid$/, '')

/** Returns 0 if the file does not exist. */
function readPid(path: string): number {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) || 0
  } catch {
    return 0
  }
}
