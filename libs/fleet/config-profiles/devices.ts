import { z } from 'zod'
import { uuid } from '#core/schemas'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { type ProfileReference, readProfile } from '#fleet/config-profiles/read'
import type { FleetContext } from '#fleet/context'
import { deviceStatuses } from '#fleet/devices/status'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntity } from '#postgres/entities'

/** A device that runs a profile. */
export const profileDeviceSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    serial: z.string(),
    model: z.string(),
    status: z.enum(deviceStatuses),
    appliedVersion: z.int(),
    pendingVersion: z.int().nullable().describe('The version of an open job that applies the profile.'),
  })
  .meta({ id: 'ConfigProfileDevice' })

type ProfileDevicePage = Page<z.infer<typeof profileDeviceSchema>> & {
  /** How many devices run the present version, and how many an earlier one. */
  counts: { current: number; behind: number }
}

type ProfileDeviceList = ProfileReference & { behind: boolean; page: PageRequest }

/**
 * The devices on which a profile was last applied, oldest first (`config:read` and `device:read`). `behind`: only those
 * with an earlier version than the present one. Throws 404.
 */
export async function listProfileDevices(
  ctx: FleetContext,
  { behind, page, ...reference }: ProfileDeviceList,
): Promise<ProfileDevicePage> {
  const { organizationId, profileId } = reference
  await authorizeObject(ctx, organizationId, 'config:read', 'profile', profileId)
  authorize(ctx.principal, organizationId, 'device:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { version } = await readProfile(connection, reference)
    const counts = await queryEntity<ProfileDevicePage['counts']>(
      connection,
      `SELECT count(*) FILTER (WHERE config_profile_version = $version)::int AS current,
              count(*) FILTER (WHERE config_profile_version <> $version)::int AS behind
       FROM device WHERE organization_id = $organizationId AND config_profile_id = $profileId`,
      { ...reference, version },
    )
    const devices = await queryPage<z.infer<typeof profileDeviceSchema>>(
      connection,
      `SELECT d.id, d.name, d.serial, d.model, d.status, d.config_profile_version AS "appliedVersion",
         (SELECT max(b.profile_version) FROM job j JOIN job_batch b ON b.id = j.batch_id
          WHERE j.device_id = d.id AND j.status IN ('queued', 'dispatched', 'inProgress')
            AND b.organization_id = $organizationId AND b.profile_id = $profileId) AS "pendingVersion"
       FROM device d
       WHERE d.organization_id = $organizationId AND d.config_profile_id = $profileId
         AND ($after::uuid IS NULL OR d.id > $after) AND (NOT $behind OR d.config_profile_version <> $version)
       ORDER BY d.id LIMIT $limit`,
      { ...reference, version, behind },
      page,
    )
    return { ...devices, counts }
  })
}
