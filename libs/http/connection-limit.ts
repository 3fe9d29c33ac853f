import { readFileSync } from 'node:fs'
import { Counter, type Registry } from 'prom-client'
import type { HttpServer } from '#http/listeners'

const largestReserve = 1_000

/**
 * How many connections this process may hold, of which each takes so many descriptors: beside them there must be some for
 * files and databases, or a log could not begin its next file. Undefined where the system sets no limit or tells none.
 */
export function connectionLimit(descriptorsEach = 1): number | undefined {
  const limit = openFileLimit()
  if (limit === undefined) return undefined
  return Math.floor((limit - Math.min(largestReserve, limit / 4)) / descriptorsEach)
}

/** Linux tells every process its limits. */
function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** Counts the connections that were closed at once since the server had as many as it may hold. */
export function countRefusedConnections(registry: Registry, server: HttpServer): void {
  const refused = new Counter({
    name: 'http_connections_refused_total',
    help: 'Connections closed at once: the process had as many open as its limit of open files lets it.',
    registers: [registry],
  })
  server.onRefused(() => refused.inc())
}
