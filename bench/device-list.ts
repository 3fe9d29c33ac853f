import { performance } from 'node:perf_hooks'
import { parseConfig } from '#core/config'
import { issueToken } from '#core/tokens'
import { startServer } from '#http/server'
import type { Pool } from '#postgres/pool'
import { configSchema } from '../apps/control-plane/config.ts'
import { createApp } from '../apps/control-plane/http/app.ts'
import { routes } from '../apps/control-plane/routes.ts'
import { openServices } from '../apps/control-plane/start.ts'
import { openBenchPostgres } from './postgres.ts'
import type { Bench, Figure } from './report.ts'
import { seedFleet } from './seed-fleet.ts'
import { median, percentile } from './statistics.ts'
import { openWireClient } from './wire.ts'

type Case = {
  name: string
  path: (organizationId: string) => string
  /** The same page as plain SQL, for the ratio. */
  sql: string
  values: (organizationId: string) => unknown[]
  targetMs: number
}

const warmUpRounds = 20

const page = 'SELECT * FROM device d WHERE'
const order = 'ORDER BY id DESC LIMIT 51'
const list = (name: string, filter: string, sql: string): Case => ({
  name,
  path: (organizationId) => `/devices?orgId=${organizationId}${filter}`,
  sql: `${page} organization_id = $1 ${sql} ${order}`,
  values: (organizationId) => [organizationId],
  targetMs: 25,
})
const search = (name: string, q: string): Case => ({
  name: `q: ${name}, one organization`,
  path: (organizationId) => `/devices?orgId=${organizationId}&q=${encodeURIComponent(q)}`,
  sql: `${page} organization_id = $1 AND search LIKE $2 ${order}`,
  values: (organizationId) => [organizationId, `%${q}%`],
  targetMs: 60,
})
const searchAll = (name: string, q: string): Case => ({
  name: `q: ${name}, all organizations`,
  path: () => `/devices?q=${encodeURIComponent(q)}`,
  sql: `${page} search LIKE $1 ${order}`,
  values: () => [`%${q}%`],
  targetMs: 60,
})

const cases: Case[] = [
  list('list, one organization', '', ''),
  list('list by status', '&status=offline', "AND status = 'offline'"),
  list('list by tags', '&tag=fleet-3&tag=night', "AND tags @> '{fleet-3,night}'"),
  {
    ...list('list, all organizations', '', ''),
    path: () => '/devices',
    sql: `${page} true ${order}`,
    values: () => [],
  },
  search('a frequent word', 'bus'),
  search('a rare word', 'oslo 77'),
  search('part of a serial', '0000079'),
  search('two characters', 'rf'),
  searchAll('a frequent word', 'bus'),
  searchAll('a rare word', 'oslo 77'),
  searchAll('nothing', 'zzzqqq'),
]

/** Device list and search with a million devices over HTTP, compared with the plain SQL of the same page. */
export const deviceList: Bench = {
  name: 'device-list',
  about: 'GET /devices over HTTP, each call compared with the plain SQL of the same page on a separate connection.',
  async run({ quick }) {
    const size = quick ? { organizations: 50, devices: 20_000 } : { organizations: 1_000, devices: 1_000_000 }
    const postgres = await openBenchPostgres()
    try {
      await seedFleet(postgres.pool, size)
      return await measure(postgres.pool, postgres.url, quick ? 30 : 300)
    } finally {
      await postgres.close()
    }
  },
}

async function measure(pool: Pool, postgresUrl: string, rounds: number): Promise<Figure[]> {
  const { rows: organizations } = await pool.query<{ id: string }>('SELECT id FROM organization ORDER BY id LIMIT 50')
  const config = parseConfig(configSchema, {
    POSTGRES_URL: postgresUrl,
    QUESTDB_URL: nobodyThere,
    QUESTDB_PG_URL: 'postgresql://127.0.0.1:9/none',
    INGEST_URL: nobodyThere,
    CONFIG_SECRETS_KEY: 'a master secret for benchmarks only',
    LOG_LEVEL: 'fatal',
  })
  const { services, close } = await openServices(config)
  const unlimited = { ...services, requestLimiter: { ...services.requestLimiter, consume: async () => unused } }
  const server = await startServer(createApp(routes, unlimited).fetch, { host: '127.0.0.1', port: 0 })
  const address = server.address()
  const client = openWireClient(typeof address === 'object' && address ? address.port : 0, await platformKey(pool))
  try {
    const figures: Figure[] = []
    for (const one of cases) {
      const organizationOf = (round: number) => organizations[round % organizations.length]?.id ?? ''
      const rows: { served: number; bare: number }[] = []
      for (let round = 0; round < warmUpRounds + rounds; round += 1) {
        const organizationId = organizationOf(round)
        const served = await timed(() => client.get(one.path(organizationId)))
        const bare = await timed(() => pool.query(one.sql, one.values(organizationId)))
        rows.push({ served, bare })
      }
      const measured = rows.slice(warmUpRounds)
      const [served, bare] = [measured.map((row) => row.served), measured.map((row) => row.bare)]
      figures.push(figureOf(one, served, bare, await indexesUsed(pool, one, organizationOf(0))))
    }
    return figures
  } finally {
    client.close()
    server.close()
    server.closeAllConnections()
    await close()
  }
}

// Listing devices needs Postgres only.
const nobodyThere = 'http://127.0.0.1:9'

const unused = { perMinute: 1, remaining: 1, resetSeconds: 60 }

const figureOf = (one: Case, served: number[], bare: number[], plan: string): Figure => ({
  name: `${one.name} (${plan})`,
  value: `p50 ${median(served).toFixed(1)} ms, p99 ${percentile(served, 99).toFixed(1)} ms; bare p50 ${median(bare).toFixed(1)} ms, p99 ${percentile(bare, 99).toFixed(1)} ms`,
  ratio: `p50 ${(median(served) / median(bare)).toFixed(1)} ×, p99 ${(percentile(served, 99) / percentile(bare, 99)).toFixed(1)} ×`,
  target: `p99 < ${one.targetMs} ms, ≤ 3 ×`,
})

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

/** Returns the indexes that EXPLAIN reports, so that a full table scan is visible. */
async function indexesUsed(pool: Pool, one: Case, organizationId: string): Promise<string> {
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${one.sql}`, one.values(organizationId))
  const used = rows.flatMap((row) =>
    [...row['QUERY PLAN'].matchAll(/(?:using|Bitmap Index Scan on) (\w+)/g)].map(([, name]) => name),
  )
  return used.length > 0 ? [...new Set(used)].join(', ') : 'no index'
}

async function platformKey(pool: Pool): Promise<string> {
  const issued = issueToken('flk')
  await pool.query(
    "INSERT INTO api_key (id, name, token_hash, platform, created_by) VALUES ($1, 'bench', $2, true, 'bench')",
    [issued.id, issued.hash],
  )
  return issued.token
}
