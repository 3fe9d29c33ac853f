import { forEachInSlices } from '#core/slices'
import { isLaterOwnerSql } from '#fleet/devices/ownership'
import { type DatabaseMoment, type MomentRow, momentOf, momentSql } from '#fleet-map/database-moment'
import type { RegistryEntry } from '#fleet-map/live/device-state'
import type { Queryable } from '#postgres/pool'

type EntryRow = { id: string; name: string | null; status: string; tags: string[]; owned_from: Date | null }

const entryColumns = `
  device.name, device.status, device.tags, CASE WHEN ${isLaterOwnerSql} THEN owned.owned_from END AS owned_from`
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
