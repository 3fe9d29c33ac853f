import { readFileSync } from 'node:fs'

/** Returns the process and all its descendants. Linux only; empty elsewhere and for processes that have exited. */
export function withDescendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean)
    return [pid, ...children.map(Number).flatMap(withDescendants)]
  } catch {
    return []
  }
}
