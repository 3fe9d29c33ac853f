import { readFileSync } from 'node:fs'
import { Counter, type Registry } from 'prom-client'
import type { HttpServer } from '#http/listeners'

const maxReserve = 1_000

/**
 * Returns how many connections this process may hold when each takes `descriptorsEach` file descriptors. Reserves some
 * descriptors for files and databases. Returns undefined when the system has no limit or does not report it.
 */
export function connectionLimit(descriptorsEach = 1): number | undefined {
  const limit = openFileLimit()
  if (limit === undefined) return undefined
  return Math.floor((limit - Math.min(maxReserve, limit / 4)) / descriptorsEach)
}

/** The soft limit of open files; only Linux reports it. */
function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** Counts the connections that the server refused because it had reached its limit. */
export function countRefusedConnections(registry: Registry, server: HttpServer): void {
  const refused = new Counter({
    name: 'http_connections_refused_total',
    help: 'Connections refused because the process had reached its limit of open connections.',
    registers: [registry],
  })
  server.onRefused(() => refused.inc())
}
