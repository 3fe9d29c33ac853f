import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import { newOrganization } from '../test/support/reporting-device.ts'
import { place } from './places.ts'
import { withoutSearchIndexes } from './seed-fleet.ts'
import { type SeededFleet, seedDeviceTable, seeded, seedMinute } from './seed-telemetry.ts'
import type { BenchStack } from './stack.ts'

/** One organization with all devices, all in one group by smart tag. */
export type MillionFleet = SeededFleet & { groupId: string; tokens: string[] }

const chunk = 50_000
/** Devices report every five minutes, so their last report is between 0 and 5 minutes old. */
const lastReportAgoMs = 4 * 60_000

const statements = {
  devices: `
    INSERT INTO device (id, organization_id, serial, name, model, tags, status)
    SELECT id, $1, 'RF' || lpad((n * 7919::bigint % 1000000007)::text, 10, '0'),
      (ARRAY['Bus', 'Truck', 'Ferry', 'Kiosk', 'Ambulance', 'Camera', 'Pump', 'Tram'])[1 + n % 8] || ' '
        || (ARRAY['Oslo', 'Cork', 'Porto', 'Turin', 'Gdansk', 'Lyon', 'Bergen', 'Malmo', 'Ghent', 'Graz'])[1 + n / 8 % 10]
        || ' ' || n,
      'RX-500', ARRAY['vehicle', 'depot-' || n / 1000 % 50, CASE WHEN n % 3 = 0 THEN 'night' ELSE 'day' END],
      CASE WHEN n % 5 = 0 THEN 'offline' ELSE 'online' END
    FROM (SELECT id, (ordinality + $3)::int AS n FROM unnest($2::uuid[]) WITH ORDINALITY AS t(id, ordinality)) numbered`,
  ownership: `
    INSERT INTO device_ownership (device_id, organization_id, owned_from)
    SELECT id, $1, now() - interval '30 days' FROM unnest($2::uuid[]) AS id`,
  tokens: `
    INSERT INTO device_token (id, organization_id, device_id, token_hash)
    SELECT id, $1, device_id, hash FROM unnest($2::text[], $3::uuid[], $4::bytea[]) AS t(id, device_id, hash)`,
}

/** Registers the devices with tokens, and stores one report of each. */
export async function seedMillion(stack: BenchStack, devices: number): Promise<MillionFleet> {
  const { pool, questdb } = stack
  const organizationId = await newOrganization(pool)
  const deviceIds: string[] = []
  const tokens: string[] = []
  await withoutSearchIndexes(pool, async () => {
    for (let from = 0; from < devices; from += chunk) {
      const some = Array.from({ length: Math.min(chunk, devices - from) }, () => ({
        id: newId(),
        issued: issueToken('fld'),
      }))
      const ids = some.map(({ id }) => id)
      await pool.query(statements.devices, [organizationId, ids, from])
      await pool.query(statements.ownership, [organizationId, ids])
      const [tokenIds, hashes] = [some.map(({ issued }) => issued.id), some.map(({ issued }) => issued.hash)]
      await pool.query(statements.tokens, [organizationId, tokenIds, ids, hashes])
      for (const { id, issued } of some) {
        deviceIds.push(id)
        tokens.push(issued.token)
      }
    }
  })
  const groupId = newId()
  await pool.query(
    "INSERT INTO device_group (id, organization_id, name, smart_tags) VALUES ($1, $2, 'All', '{vehicle}')",
    [groupId, organizationId],
  )
  await pool.query('UPDATE organization_usage SET device_count = $2 WHERE organization_id = $1', [
    organizationId,
    devices,
  ])
  await pool.query('UPDATE organization SET device_quota = $2 WHERE id = $1', [organizationId, 2 * devices])
  await pool.query('VACUUM ANALYZE device, device_token, device_ownership')
  const fleet = { organizationId, deviceIds, groupId, tokens }
  await seedDeviceTable(questdb, fleet, place)
  await seedMinute(questdb, fleet, Date.now() - lastReportAgoMs)
  await seeded(questdb)
  return fleet
}
