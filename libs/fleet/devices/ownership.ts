import type { Queryable } from '#postgres/pool'

// Each device has one interval for each owner it had. The first owner also owns what the device recorded before it was
// registered; a later one owns it from the transfer on.

/**
 * SQL: the intervals of the devices that meet `condition`. `owned_from` is null for the first owner, and `started` is the
 * stored time. To be filtered by organization outside, so that the first owner is known.
 */
export const intervalsSql = (condition: string): string => `
  SELECT device_id, organization_id, owned_to, owned_from AS started,
         CASE WHEN owned_from > min(owned_from) OVER (PARTITION BY device_id) THEN owned_from END AS owned_from
  FROM device_ownership WHERE ${condition}`

/** SQL condition: the interval `owned` is not the first one of its device. */
export const isLaterOwnerSql = `EXISTS (
  SELECT FROM device_ownership earlier
  WHERE earlier.device_id = owned.device_id AND earlier.owned_from < owned.owned_from)`

/** A device and the intervals [fromMs, toMs) in which an organization owned it. */
type OwnedDevice = {
  organizationId: string
  deviceId: string
  intervals: readonly { fromMs: number; toMs: number }[]
}

/** Devices that were transferred to each of the organizations after a time, also those that it no longer has. */
export async function latecomers(
  db: Queryable,
  organizationIds: readonly string[],
  sinceMs: number,
): Promise<OwnedDevice[]> {
  const { rows } = await db.query<{ organization_id: string; device_id: string }>(
    `SELECT DISTINCT owned.organization_id, owned.device_id
     FROM (SELECT DISTINCT device_id FROM device_ownership WHERE owned_to IS NOT NULL) transferred
     JOIN device_ownership owned USING (device_id)
     WHERE owned.organization_id = ANY ($1::uuid[]) AND owned.owned_from > $2 AND ${isLaterOwnerSql}`,
    [organizationIds, new Date(sinceMs)],
  )
  const late: OwnedDevice[] = []
  for (const [organizationId, devices] of Map.groupBy(rows, (row) => row.organization_id)) {
    const deviceIds = devices.map(({ device_id }) => device_id)
    const owned = await ownershipOf(db, organizationId, deviceIds)
    for (const [deviceId, intervals] of owned) late.push({ organizationId, deviceId, intervals })
  }
  return late
}

/** The intervals [fromMs, toMs) in which the organization owned each device; none for a deleted device. */
export async function ownershipOf(
  db: Queryable,
  organizationId: string,
  deviceIds: readonly string[],
): Promise<Map<string, { fromMs: number; toMs: number }[]>> {
  const { rows } = await db.query<{ device_id: string; owned_from: Date | null; owned_to: Date | null }>(
    `SELECT device_id, owned_from, owned_to FROM (${intervalsSql('device_id = ANY ($2::uuid[])')}) owned
     WHERE organization_id = $1`,
    [organizationId, [...new Set(deviceIds)]],
  )
  const intervals = new Map<string, { fromMs: number; toMs: number }[]>()
  for (const { device_id, owned_from, owned_to } of rows) {
    const interval = { fromMs: owned_from?.getTime() ?? 0, toMs: owned_to?.getTime() ?? Number.POSITIVE_INFINITY }
    intervals.set(device_id, [...(intervals.get(device_id) ?? []), interval])
  }
  return intervals
}

/** The devices that were not deleted, whichever organization owns them now. */
export async function existingDevices(db: Queryable, deviceIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM device WHERE id = ANY ($1::uuid[])', [deviceIds])
  return new Set(rows.map(({ id }) => id))
}
