import { readFileSync } from 'node:fs'

/** The process and everything it has started, directly or not; Linux only, elsewhere and for ended processes empty. */
export function withDescendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean)
    return [pid, ...children.map(Number).flatMap(withDescendants)]
  } catch {
    return []
  }
}
