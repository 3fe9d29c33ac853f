import { forEachInSlices } from '#core/slices'
import type { EffectiveGroup } from '#fleet/groups/effective-members'
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

// A statement for a million devices would reach its time limit on a busy machine.
const entriesAtOnce = 20_000
const beforeAllIds = '00000000-0000-0000-0000-000000000000'

/** All devices of an organization, in parts: those that are changed meanwhile may be as before or after the change. */
export async function registryEntries(db: Queryable, organizationId: string): Promise<RegistryEntry[]> {
  const entries: RegistryEntry[] = []
  for (let after = beforeAllIds; ; ) {
    const { rows } = await db.query<EntryRow & { name: string }>(
      `SELECT device.id, ${entryColumns} FROM ${entrySources}
       WHERE device.organization_id = $1 AND device.id > $2 AND owned.device_id > $2
       ORDER BY device.id LIMIT ${entriesAtOnce}`,
      [organizationId, after],
    )
    await forEachInSlices(rows, (row) => entries.push(entryOf(organizationId, row, row.name)))
    const last = rows.at(-1)
    if (!last || rows.length < entriesAtOnce) return entries
    after = last.id
  }
}

/** Milliseconds since the epoch by the database's clock, which all processes share. */
export const databaseNowMs = async (db: Queryable): Promise<number> => (await databaseMoment(db)).nowMs

/** What the database contains at a moment. */
export type DatabaseMoment = {
  /** By the database's clock. */
  nowMs: number
  /** The oldest transaction that is not complete. Those before it are. */
  oldestXid: string | undefined
}

type MomentRow = { now_ms: number; oldest_xid: string }

const momentSql = `
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
         pg_snapshot_xmin(pg_current_snapshot())::text AS oldest_xid`

export async function databaseMoment(db: Queryable): Promise<DatabaseMoment> {
  const { rows } = await db.query<MomentRow>(momentSql)
  return momentOf(rows[0])
}

const momentOf = (row: MomentRow | undefined): DatabaseMoment => ({
  nowMs: row?.now_ms ?? 0,
  oldestXid: row?.oldest_xid,
})

/** A transaction may become visible this long after the time of its audit row. */
const visibilityDelayMs = 30_000

/** `moment`: when they were read. */
export type RegistryChanges = { entries: RegistryEntry[]; departed: string[]; moment: DatabaseMoment }

/**
 * The present entries of devices that were created, changed, deleted or transferred since a moment. Without its `oldestXid`, also those
 * of up to 30 s before. Every such change writes an audit row in its transaction.
 */
export async function registryChanges(
  db: Queryable,
  organizationId: string,
  { nowMs, oldestXid }: DatabaseMoment,
): Promise<RegistryChanges> {
  const { rows } = await db.query<MomentRow & (EntryRow | { id: null })>(
    `SELECT moment.*, touched.id, present.name, present.status, present.tags, present.owned_from
     FROM (${momentSql}) moment
     LEFT JOIN (
       SELECT DISTINCT subject_id::uuid AS id FROM audit_entry
       WHERE organization_id = $1 AND id >= $2::uuid AND subject_type = 'device'
         -- Rows of transactions that were complete then are older.
         AND ($3::text IS NULL OR age(xmin) <= age($3::text::xid8::xid))
     ) touched ON true
     LEFT JOIN LATERAL (
       SELECT ${entryColumns} FROM ${entrySources} WHERE device.id = touched.id AND device.organization_id = $1
     ) present ON true`,
    [organizationId, firstIdOf(nowMs - visibilityDelayMs), oldestXid ?? null],
  )
  const changes: RegistryChanges = { entries: [], departed: [], moment: momentOf(rows[0]) }
  for (const row of rows) {
    // The moment alone.
    if (row.id === null) continue
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
    organizationIds.map((organizationId) =>
      registryChanges(db, organizationId, { nowMs: sinceMs, oldestXid: undefined }),
    ),
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

/** A device and the intervals [fromMs, toMs) in which an organization owned it. */
export type OwnedDevice = { deviceId: string; intervals: readonly { fromMs: number; toMs: number }[] }

/** Devices that were transferred to the organization after a time, also those that it no longer has. */
export async function latecomers(db: Queryable, organizationId: string, sinceMs: number): Promise<OwnedDevice[]> {
  const { rows } = await db.query<{ device_id: string }>(
    `SELECT DISTINCT owned.device_id
     FROM (SELECT DISTINCT device_id FROM device_ownership WHERE owned_to IS NOT NULL) transferred
     JOIN device_ownership owned USING (device_id)
     WHERE owned.organization_id = $1 AND owned.owned_from > $2 AND EXISTS (
       SELECT FROM device_ownership earlier
       WHERE earlier.device_id = owned.device_id AND earlier.owned_from < owned.owned_from)`,
    [organizationId, new Date(sinceMs)],
  )
  if (rows.length === 0) return []
  const deviceIds = rows.map(({ device_id }) => device_id)
  const owned = await ownershipOf(db, organizationId, deviceIds)
  return [...owned].map(([deviceId, intervals]) => ({ deviceId, intervals }))
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

const taggedDevicesSql = 'SELECT d.id FROM device d WHERE d.organization_id = $1 AND d.tags @> $2'
const taggedMembersSql = `
  ${taggedDevicesSql} AND d.tags && $3::text[]
  UNION ALL
  SELECT d.id FROM device_group_member explicit JOIN device d ON d.id = explicit.device_id
   WHERE explicit.organization_id = $1 AND explicit.group_id = $4
     AND d.organization_id = $1 AND d.tags @> $2 AND NOT d.tags && $3::text[]`

/** Ids of the organization's devices that have all these tags and are effective members. Undefined without a filter. */
export async function deviceIdsWith(
  db: Queryable,
  organizationId: string,
  { tags, group }: { tags?: readonly string[] | undefined; group?: EffectiveGroup | undefined },
): Promise<string[] | undefined> {
  if (!tags && !group) return undefined
  if (group && group.organizationId !== organizationId) return []
  const parameters = [organizationId, tags ?? []]
  const { rows } = await (group
    ? db.query<{ id: string }>(taggedMembersSql, [...parameters, group.smartTags, group.id])
    : db.query<{ id: string }>(taggedDevicesSql, parameters))
  return rows.map(({ id }) => id)
}
