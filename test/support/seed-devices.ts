import type { Pool } from '#postgres/pool'

type SeedOptions = { tags?: readonly string[]; model?: string }

/** A statement must end within the limits of the service, also beside many other tests. */
const devicesAtOnce = 5_000

/** Adds `count` devices to an organization and its usage. Returns their ids, oldest first. */
export async function seedDevices(
  pool: Pool,
  organizationId: string,
  count: number,
  options: SeedOptions = {},
): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < count; from += devicesAtOnce) {
    const part = { from, to: Math.min(from + devicesAtOnce, count) }
    for (const id of await seedPart(pool, organizationId, part, options)) ids.push(id)
  }
  return ids
}

async function seedPart(
  pool: Pool,
  organizationId: string,
  { from, to }: { from: number; to: number },
  { tags = [], model = 'RX400' }: SeedOptions,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `WITH made AS (
       INSERT INTO device (id, organization_id, serial, name, model, tags)
       SELECT uuidv7(), $1, gen_random_uuid()::text, 'Router ' || n, $4, $5 FROM generate_series($2::int + 1, $3::int) n
       RETURNING id, organization_id, created_at
     ), owned AS (
       INSERT INTO device_ownership (device_id, organization_id, owned_from)
       SELECT id, organization_id, created_at FROM made
     ), counted AS (
       UPDATE organization_usage SET device_count = device_count + ($3 - $2) WHERE organization_id = $1
     )
     SELECT id FROM made ORDER BY id`,
    [organizationId, from, to, model, tags],
  )
  return rows.map(({ id }) => id)
}
