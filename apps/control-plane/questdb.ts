import { Counter, Gauge, type Registry } from 'prom-client'
import { NotReadyError, type ReadinessCheck } from '#http/health'
import type { Logger } from '#http/request-log'
import type { Pool } from '#postgres/pool'
import { type Copies, type CopyReport, openCopies, openOnlyCopy } from '#questdb/copies/copies'
import { hasSchema } from '#questdb/schema/schema'
import type { QuestdbServer } from '#questdb/server/servers'
import { readCopyLags } from '#telemetry-writer/store/copy-progress'

/** To each copy. */
export const questdbConnections = 16

type Servers = readonly [QuestdbServer, ...QuestdbServer[]]

/** Opens the copies that requests read, with their metrics. Resolves when the first copy to read is chosen. */
export async function openReadCopies(parts: {
  servers: Servers
  pool: Pool
  registry: Registry
  logger: Logger
}): Promise<Copies> {
  const { servers, pool, registry, logger } = parts
  const options = { applicationName: 'control-plane', maxConnections: questdbConnections }
  if (servers.length === 1) return openOnlyCopy(servers[0], options)
  const copies = await openCopies({
    ...options,
    servers,
    readLags: () => readCopyLags(pool),
    onChange: (from, to) => logger.warn({ from, to }, 'questdb_copy_changed'),
  })
  registerCopyMetrics(registry, copies)
  return copies
}

/**
 * The check `questdb`: an only server answers; of several, the one that is read answers and lags less than 60 s. It has the
 * tables of this version, which ingest creates and upgrades at its start.
 */
export function questdbReadiness(servers: Servers, copies: Copies): ReadinessCheck {
  let hadSchema = false
  return {
    name: 'questdb',
    async check() {
      if (servers.length === 1) await answers(new URL('/ping', servers[0].url))
      else if (!copies.isFresh()) throw new Error('No copy of QuestDB answers and lags less than 60 s.')
      hadSchema ||= await hasSchema(copies.current().questdb)
      if (!hadSchema) throw new NotReadyError('QuestDB lacks tables of this version. Ingest creates them at its start.')
    },
  }
}

async function answers(url: URL): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  await answer.body?.cancel()
  if (answer.status >= 500) throw new Error('not ready')
}

function registerCopyMetrics(registry: Registry, copies: Copies): void {
  const gauge = (name: string, help: string, read: (report: CopyReport) => number | null) => {
    new Gauge({
      name,
      help,
      labelNames: ['questdb'],
      registers: [registry],
      collect() {
        this.reset()
        for (const report of copies.report()) {
          const value = read(report)
          if (value !== null) this.set({ questdb: report.name }, value)
        }
      },
    })
  }
  gauge('questdb_copy_up', '1 while the copy answers this process.', ({ answers }) => (answers ? 1 : 0))
  gauge('questdb_copy_read', '1 for the copy that this process reads.', ({ isRead }) => (isRead ? 1 : 0))
  gauge(
    'questdb_copy_lag_seconds',
    'Reports accepted longer ago can be read from the copy. Absent while unknown.',
    ({ lagMs }) => lagMs && lagMs / 1_000,
  )
  new Counter({
    name: 'questdb_copy_changes_total',
    help: 'How often this process has begun to read another copy.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(copies.changes())
    },
  })
}
