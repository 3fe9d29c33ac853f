import { ServiceError } from '#core/errors'
import type { Queryable } from '#postgres/pool'

const maxNamedInText = 10

/**
 * Makes sure that all of these are devices of the organization, and that they stay so until the transaction ends. Throws
 * 404 whose member `deviceIds` names those that are not.
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
  if (unknown.length === 0) return
  const named = unknown.slice(0, maxNamedInText).join(', ')
  const more = unknown.length > maxNamedInText ? ` and ${unknown.length - maxNamedInText} more` : ''
  throw new ServiceError(404, 'not_found', `No such device: ${named}${more}.`, { members: { deviceIds: unknown } })
}
