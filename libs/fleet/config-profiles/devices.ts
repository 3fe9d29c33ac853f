import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { type ProfileReference, readProfile } from '#fleet/config-profiles/read'
import type { FleetContext } from '#fleet/context'
import type { DeviceStatus } from '#fleet/devices/status'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'

/** A device that runs a profile. */
type ProfileDevice = {
  id: string
  name: string
  serial: string
  model: string
  status: DeviceStatus
  appliedVersion: number
  /** The version of an open job that applies the profile; null without one. */
  pendingVersion: number | null
}

type ProfileDevicePage = Page<ProfileDevice> & {
  /** How many devices run the present version, and how many an earlier one. */
  counts: { current: number; behind: number }
}

type DeviceRow = {
  id: string
  name: string
  serial: string
  model: string
  status: DeviceStatus
  applied_version: number
  pending_version: number | null
}

type ProfileDeviceList = ProfileReference & { behind: boolean; page: PageRequest }

/**
 * The devices on which a profile was last applied, oldest first (`config:read` and `device:read`). `behind`: only those
 * with an earlier version than the present one. Throws 404.
 */
export async function listProfileDevices(
  ctx: FleetContext,
  { organizationId, profileId, behind, page }: ProfileDeviceList,
): Promise<ProfileDevicePage> {
  await authorizeObject(ctx, organizationId, 'config:read', 'profile', profileId)
  authorize(ctx.principal, organizationId, 'device:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { version } = await readProfile(connection, organizationId, profileId)
    const { rows: counts } = await connection.query<{ current: number; behind: number }>(
      `SELECT count(*) FILTER (WHERE config_profile_version = $3)::int AS current,
              count(*) FILTER (WHERE config_profile_version <> $3)::int AS behind
       FROM device WHERE organization_id = $1 AND config_profile_id = $2`,
      [organizationId, profileId, version],
    )
    const { rows } = await connection.query<DeviceRow>(
      `SELECT d.id, d.name, d.serial, d.model, d.status, d.config_profile_version AS applied_version,
         (SELECT max(b.profile_version) FROM job j JOIN job_batch b ON b.id = j.batch_id
          WHERE j.device_id = d.id AND j.status IN ('queued', 'dispatched', 'inProgress')
            AND b.organization_id = $1 AND b.profile_id = $2) AS pending_version
       FROM device d
       WHERE d.organization_id = $1 AND d.config_profile_id = $2 AND ($3::uuid IS NULL OR d.id > $3)
         AND (NOT $4 OR d.config_profile_version <> $5)
       ORDER BY d.id LIMIT $6`,
      [organizationId, profileId, page.after ?? null, behind, version, page.limit + 1],
    )
    return { ...pageOf(rows, page.limit, toProfileDevice), counts: counts[0] ?? { current: 0, behind: 0 } }
  })
}

const toProfileDevice = (row: DeviceRow): ProfileDevice => ({
  id: row.id,
  name: row.name,
  serial: row.serial,
  model: row.model,
  status: row.status,
  appliedVersion: row.applied_version,
  pendingVersion: row.pending_version,
})
