import type { RegistryEntry } from '#fleet-map/live/device-state'
import type { Queryable } from '#postgres/pool'

type EntryRow = { id: string; name: string | null; status: string; tags: string[]; owned_from: Date | null }

// The first owner also owns samples from before the registration; a later owner owns them from the transfer on.
const entryColumns = `
  device.name, device.status, device.tags,
  CASE WHEN EXISTS (
    SELECT FROM device_ownership earlier
    WHERE earlier.device_id = device.id AND earlier.owned_from < owned.owned_from
  ) THEN owned.owned_from END AS owned_from`
const entrySources = `
  device JOIN device_ownership owned ON owned.device_id = device.id AND owned.owned_to IS NULL`

/** All devices of an organization. */
export async function registryEntries(db: Queryable, organizationId: string): Promise<RegistryEntry[]> {
  const { rows } = await db.query<EntryRow & { name: string }>(
    `SELECT device.id, ${entryColumns} FROM ${entrySources} WHERE device.organization_id = $1 ORDER BY device.id`,
    [organizationId],
  )
  return rows.map((row) => entryOf(organizationId, row, row.name))
}

/** Milliseconds since the epoch by the database's clock, which all processes share. */
export async function databaseNowMs(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ now_ms: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms',
  )
  return rows[0]?.now_ms ?? 0
}

/** A transaction may become visible this long after the time of its audit row. */
const visibilityDelayMs = 30_000

export type RegistryChanges = { entries: RegistryEntry[]; departed: string[] }

/**
 * The present entries of devices that were created, changed, deleted or transferred since a time of the database's clock,
 * or up to 30 s before. Every such change writes an audit row in its transaction.
 */
export async function registryChanges(
  db: Queryable,
  organizationId: string,
  sinceMs: number,
): Promise<RegistryChanges> {
  const { rows } = await db.query<EntryRow>(
    `SELECT touched.id, present.name, present.status, present.tags, present.owned_from
     FROM (
       SELECT DISTINCT subject_id::uuid AS id FROM audit_entry
       WHERE organization_id = $1 AND id >= $2::uuid AND subject_type = 'device'
     ) touched
     LEFT JOIN LATERAL (
       SELECT ${entryColumns} FROM ${entrySources} WHERE device.id = touched.id AND device.organization_id = $1
     ) present ON true`,
    [organizationId, firstIdOf(sinceMs - visibilityDelayMs)],
  )
  const changes: RegistryChanges = { entries: [], departed: [] }
  for (const row of rows) {
    if (row.name === null) changes.departed.push(row.id)
    else changes.entries.push(entryOf(organizationId, row, row.name))
  }
  return changes
}

/** Devices of these organizations that were deleted or transferred since a time of the database's clock. */
export async function departedSince(
  db: Queryable,
  organizationIds: readonly string[],
  sinceMs: number,
): Promise<string[]> {
  const changes = await Promise.all(
    organizationIds.map((organizationId) => registryChanges(db, organizationId, sinceMs)),
  )
  return changes.flatMap(({ departed }) => departed)
}

/** The devices that were not deleted, whichever organization owns them now. */
export async function existingDevices(db: Queryable, deviceIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM device WHERE id = ANY ($1::uuid[])', [deviceIds])
  return new Set(rows.map(({ id }) => id))
}

/** The smallest version 7 UUID of a millisecond. */
function firstIdOf(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const entryOf = (organizationId: string, row: EntryRow, name: string): RegistryEntry => ({
  deviceId: row.id,
  organizationId,
  name,
  status: row.status,
  tags: row.tags,
  ownedFromMs: row.owned_from?.getTime() ?? null,
})

/** Devices that were transferred to the organization after a time, and when. */
export async function latecomers(
  db: Queryable,
  organizationId: string,
  sinceMs: number,
): Promise<{ deviceId: string; fromMs: number }[]> {
  const { rows } = await db.query<{ device_id: string; owned_from: Date }>(
    `SELECT owned.device_id, owned.owned_from
     FROM (SELECT DISTINCT device_id FROM device_ownership WHERE owned_to IS NOT NULL) transferred
     JOIN device_ownership owned USING (device_id)
     WHERE owned.organization_id = $1 AND owned.owned_from > $2 AND owned.owned_to IS NULL`,
    [organizationId, new Date(sinceMs)],
  )
  return rows.map((row) => ({ deviceId: row.device_id, fromMs: row.owned_from.getTime() }))
}

/** The intervals [fromMs, toMs) in which the organization owned each device; none for a deleted device. */
export async function ownershipOf(
  db: Queryable,
  organizationId: string,
  deviceIds: readonly string[],
): Promise<Map<string, { fromMs: number; toMs: number }[]>> {
  const { rows } = await db.query<{ device_id: string; owned_from: Date | null; owned_to: Date | null }>(
    `SELECT device_id, owned_from, owned_to FROM (
       SELECT device_id, organization_id, owned_to,
              CASE WHEN owned_from > min(owned_from) OVER (PARTITION BY device_id) THEN owned_from END AS owned_from
       FROM device_ownership WHERE device_id = ANY ($2::uuid[])
     ) owned WHERE organization_id = $1`,
    [organizationId, [...new Set(deviceIds)]],
  )
  const intervals = new Map<string, { fromMs: number; toMs: number }[]>()
  for (const { device_id, owned_from, owned_to } of rows) {
    const interval = { fromMs: owned_from?.getTime() ?? 0, toMs: owned_to?.getTime() ?? Number.POSITIVE_INFINITY }
    intervals.set(device_id, [...(intervals.get(device_id) ?? []), interval])
  }
  return intervals
}

/** Ids of the organization's devices that have all these tags and are among the members. Undefined without a filter. */
export async function deviceIdsWith(
  db: Queryable,
  organizationId: string,
  filter: { tags?: readonly string[] | undefined; members?: ReadonlySet<string> | undefined },
): Promise<string[] | undefined> {
  if (!filter.tags && !filter.members) return undefined
  const { rows } = await db.query<{ id: string }>(
    'SELECT id FROM device WHERE organization_id = $1 AND tags @> $2 AND ($3::uuid[] IS NULL OR id = ANY ($3::uuid[]))',
    [organizationId, filter.tags ?? [], filter.members ? [...filter.members] : null],
  )
  return rows.map(({ id }) => id)
}
