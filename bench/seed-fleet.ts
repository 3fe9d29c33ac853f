import type { Queryable } from '#postgres/pool'

const statements = {
  organizations: `
    INSERT INTO organization (id, name, plan, device_quota)
    SELECT uuidv7(), (ARRAY['Harbour', 'Northern', 'Atlantic', 'City', 'Valley', 'Summit', 'Delta', 'Coastal'])[1 + n % 8]
      || ' ' || (ARRAY['Ferries', 'Buses', 'Freight', 'Ambulances', 'Utilities', 'Broadcast', 'Mining'])[1 + n % 7] || ' ' || n,
      'enterprise', 1000000
    FROM generate_series(1, $1) n`,
  // Adjacent ids belong to different organizations, as when all organizations grow at the same time.
  devices: `
    WITH owner AS (SELECT array_agg(id ORDER BY id) AS ids FROM organization)
    INSERT INTO device (id, organization_id, serial, name, model, tags, status)
    SELECT uuidv7(), ids[1 + n % array_length(ids, 1)], 'RF' || lpad((n * 7919::bigint % 1000000007)::text, 10, '0'),
      (ARRAY['Bus', 'Truck', 'Ferry', 'Kiosk', 'Ambulance', 'Camera', 'Pump', 'Tram'])[1 + n % 8] || ' '
        || (ARRAY['Oslo', 'Cork', 'Porto', 'Turin', 'Gdansk', 'Lyon', 'Bergen', 'Malmo', 'Ghent', 'Graz'])[1 + n / 8 % 10]
        || ' ' || n,
      'RX-' || (n % 20) * 50,
      ARRAY['fleet-' || n / 1000 % 50, CASE WHEN n % 3 = 0 THEN 'night' ELSE 'day' END],
      (ARRAY['online', 'online', 'online', 'offline', 'provisioning'])[1 + n % 5]
    FROM owner, generate_series($1::int, $2::int) n`,
  ownership: `
    INSERT INTO device_ownership (device_id, organization_id, owned_from) SELECT id, organization_id, created_at FROM device`,
  usage: `
    INSERT INTO organization_usage (organization_id, device_count) SELECT organization_id, count(*) FROM device GROUP BY 1`,
}

const searchIndexes = {
  device_tags: 'CREATE INDEX device_tags ON device USING gin (organization_id, tags)',
  device_search: 'CREATE INDEX device_search ON device USING gin (organization_id, search gin_trgm_ops)',
}

const chunk = 100_000

/** Fills an empty database with `devices` routers, distributed evenly over `organizations`. */
export async function seedFleet(pool: Queryable, size: { organizations: number; devices: number }): Promise<void> {
  await withoutSearchIndexes(pool, async () => {
    await pool.query(statements.organizations, [size.organizations])
    for (let from = 1; from <= size.devices; from += chunk) {
      await pool.query(statements.devices, [from, Math.min(from + chunk - 1, size.devices)])
    }
    await pool.query(statements.ownership)
    await pool.query(statements.usage)
  })
  await pool.query('ANALYZE device, organization')
}

/** Drops the inverted indexes of devices and creates them again after `insert`, which is faster for a bulk load. */
export async function withoutSearchIndexes(pool: Queryable, insert: () => Promise<void>): Promise<void> {
  for (const name of Object.keys(searchIndexes)) await pool.query(`DROP INDEX ${name}`)
  await insert()
  for (const sql of Object.values(searchIndexes)) await pool.query(`SET LOCAL statement_timeout = 0; ${sql}`)
}
