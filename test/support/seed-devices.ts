import type { Pool } from '#postgres/pool'

type SeedOptions = { tags?: readonly string[]; model?: string }

/** Adds `count` devices to an organization and its usage. Returns their ids, oldest first. */
export async function seedDevices(
  pool: Pool,
  organizationId: string,
  count: number,
  { tags = [], model = 'RX400' }: SeedOptions = {},
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `WITH made AS (
       INSERT INTO device (id, organization_id, serial, name, model, tags)
       SELECT uuidv7(), $1, gen_random_uuid()::text, 'Router ' || n, $3, $4 FROM generate_series(1, $2) n
       RETURNING id, organization_id, created_at
     ), owned AS (
       INSERT INTO device_ownership (device_id, organization_id, owned_from)
       SELECT id, organization_id, created_at FROM made
     ), counted AS (
       UPDATE organization_usage SET device_count = device_count + $2 WHERE organization_id = $1
     )
     SELECT id FROM made ORDER BY id`,
    [organizationId, count, model, tags],
  )
  return rows.map(({ id }) => id)
}
