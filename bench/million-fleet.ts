import pg from 'pg'
import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import { newOrganization } from '../test/support/reporting-device.ts'
import { place } from './places.ts'
import { withoutSearchIndexes } from './seed-fleet.ts'
import { type SeededFleet, seedDeviceTable, seeded, seedMinute } from './seed-telemetry.ts'
import type { BenchStack } from './stack.ts'
import { timed } from './timed.ts'

/** One organization with all devices, all in one group by smart tag. */
export type MillionFleet = SeededFleet & { groupId: string; tokens: string[] }

/** QuestDB keeps the ids of a million devices in its heap, for each table; 460 MB of old objects were seen. */
export const questdbHeapBytes = 2 * 1024 ** 3

const chunk = 50_000
/** Builds indexes in memory, does not wait for the disk, and does not search for the device of each token. */
const bulkLoad = '-c maintenance_work_mem=1GB -c synchronous_commit=off -c session_replication_role=replica'
/** Devices report every five minutes, so their last report is between 0 and 5 minutes old. */
const lastReportAgoMs = 4 * 60_000

const statements = {
  devices: `
    INSERT INTO device (id, organization_id, serial, name, model, tags, status, last_seen_at, reporting_interval_s)
    SELECT id, $1, 'RF' || lpad((n * 7919::bigint % 1000000007)::text, 10, '0'),
      (ARRAY['Bus', 'Truck', 'Ferry', 'Kiosk', 'Ambulance', 'Camera', 'Pump', 'Tram'])[1 + n % 8] || ' '
        || (ARRAY['Oslo', 'Cork', 'Porto', 'Turin', 'Gdansk', 'Lyon', 'Bergen', 'Malmo', 'Ghent', 'Graz'])[1 + n / 8 % 10]
        || ' ' || n,
      'RX-500', ARRAY['vehicle', 'depot-' || n / 1000 % 50, CASE WHEN n % 3 = 0 THEN 'night' ELSE 'day' END],
      CASE WHEN n % 50 = 0 THEN 'offline' ELSE 'online' END,
      now() - make_interval(secs => n % 300), 300
    FROM (SELECT id, (ordinality + $3)::int AS n FROM unnest($2::uuid[]) WITH ORDINALITY AS t(id, ordinality)) numbered`,
  // Triggers do not run during the bulk load.
  checks: `
    INSERT INTO device_online_check (device_id, check_at)
    SELECT id, now() + make_interval(secs => (300 + 900 * random())::int) FROM unnest($1::uuid[]) AS id`,
  ownership: `
    INSERT INTO device_ownership (device_id, organization_id, owned_from)
    SELECT id, $1, now() - interval '30 days' FROM unnest($2::uuid[]) AS id`,
  tokens: `
    INSERT INTO device_token (id, organization_id, device_id, token_hash)
    SELECT id, $1, device_id, hash FROM unnest($2::text[], $3::uuid[], $4::bytea[]) AS t(id, device_id, hash)`,
}

/** Registers the devices with tokens, and stores one report of each. Postgres and QuestDB are filled at the same time. */
export async function seedMillion(stack: BenchStack, devices: number): Promise<MillionFleet> {
  const organizationId = await newOrganization(stack.pool)
  const deviceIds = Array.from({ length: devices }, () => newId())
  const fleet = { organizationId, deviceIds, groupId: newId() }
  const [tokens] = await Promise.all([
    timed('fleet: registered', () => register(stack, fleet)),
    timed('fleet: reports stored', () => storeReports(stack, fleet)),
  ])
  return { ...fleet, tokens }
}

/** So far from the next reported position that no dwell begins, for which the writer would write earlier rows again. */
function seededPlace(index: number) {
  const { lat, lon } = place(index)
  return { lat: lat - 0.01, lon }
}

async function storeReports(stack: BenchStack, fleet: SeededFleet): Promise<void> {
  await seedDeviceTable(stack, fleet, seededPlace)
  await seedMinute(stack.questdb, fleet, Date.now() - lastReportAgoMs)
  await seeded(stack.questdb)
}

/** Returns the tokens of the devices. */
async function register({ environment }: BenchStack, fleet: Omit<MillionFleet, 'tokens'>): Promise<string[]> {
  const { organizationId, deviceIds, groupId } = fleet
  const tokens: string[] = []
  const pool = new pg.Pool({ connectionString: environment.POSTGRES_URL, max: 1, options: bulkLoad })
  try {
    await withoutSearchIndexes(pool, async () => {
      for (let from = 0; from < deviceIds.length; from += chunk) {
        const ids = deviceIds.slice(from, from + chunk)
        const issued = ids.map(() => issueToken('fld'))
        await pool.query(statements.devices, [organizationId, ids, from])
        await pool.query(statements.checks, [ids])
        await pool.query(statements.ownership, [organizationId, ids])
        await pool.query(statements.tokens, [
          ...[organizationId, issued.map(({ id }) => id), ids],
          issued.map(({ hash }) => hash),
        ])
        for (const { token } of issued) tokens.push(token)
      }
    })
    await pool.query(
      "INSERT INTO device_group (id, organization_id, name, smart_tags) VALUES ($1, $2, 'All', '{vehicle}')",
      [groupId, organizationId],
    )
    await pool.query('UPDATE organization_usage SET device_count = $2 WHERE organization_id = $1', [
      organizationId,
      deviceIds.length,
    ])
    await pool.query('UPDATE organization SET device_quota = $2 WHERE id = $1', [organizationId, 2 * deviceIds.length])
    await pool.query('VACUUM ANALYZE device, device_online_check, device_token, device_ownership')
    return tokens
  } finally {
    await pool.end()
  }
}
