import { globSync, readFileSync } from 'node:fs'

/** Returns the process and all its descendants. Empty without /proc. */
function processTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const path of globSync('/proc/[0-9]*/stat')) {
    const [child, parent] = readStat(path)
    if (child !== undefined && parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), child])
  }
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)])
  return [pid, ...below(pid)]
}

function readStat(path: string): [pid?: number, parent?: number] {
  try {
    const match = /^(\d+) \(.*\) \S (\d+)/s.exec(readFileSync(path, 'utf8'))
    return match ? [Number(match[1]), Number(match[2])] : []
  } catch {
    return []
  }
}

/** Suspends a process and its children with SIGSTOP. Connections remain open without responses. Returns the resume function. */
export function freezeProcess(pid: number): () => void {
  const frozen: number[] = []
  // Suspend the parent first, so that it cannot start further children.
  process.kill(pid, 'SIGSTOP')
  for (const member of processTree(pid)) if (signal(member, 'SIGSTOP')) frozen.push(member)
  return () => {
    for (const member of frozen) signal(member, 'SIGCONT')
  }
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}
