import { ServiceError } from '#core/errors'
import type { Queryable } from '#postgres/pool'

const maxIdsInDetail = 10

/** 404 for ids that are not devices of the organization. The member `deviceIds` lists them. */
export function unknownDevices(deviceIds: readonly string[]): ServiceError {
  const named = deviceIds.slice(0, maxIdsInDetail).join(', ')
  const more = deviceIds.length > maxIdsInDetail ? ` and ${deviceIds.length - maxIdsInDetail} more` : ''
  return new ServiceError(404, 'not_found', `No such device: ${named}${more}.`, { members: { deviceIds } })
}

/**
 * Throws 404 unless all of these are devices of the organization. Locks their rows, so that they remain devices of the
 * organization until the transaction ends.
 */
export async function requireDevices(
  db: Queryable,
  organizationId: string,
  deviceIds: readonly string[],
): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    'SELECT id FROM device WHERE organization_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR KEY SHARE',
    [organizationId, deviceIds],
  )
  const known = new Set(rows.map(({ id }) => id))
  const unknown = deviceIds.filter((id) => !known.has(id))
  if (unknown.length > 0) throw unknownDevices(unknown)
}
