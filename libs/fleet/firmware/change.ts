import { conflict, notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import {
  type FirmwareImage,
  type FirmwareReference,
  type FirmwareRow,
  firmwareColumns,
  toFirmwareImage,
} from '#fleet/firmware/read'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { isUniqueViolation } from '#postgres/errors'
import type { Connection } from '#postgres/pool'

/** Most firmware images of an organization. */
const maxImages = 500

type NewFirmware = {
  organizationId: string
  version: string
  url: string
  sha256: string
  sizeBytes?: number | undefined
  models?: string[] | undefined
  notes?: string | null | undefined
}

/**
 * Adds a firmware image to the catalogue (`job:create`, which also allows updates without the catalogue). Throws 402, and
 * 409 `firmware_taken` or `firmware_limit_reached`.
 */
export async function addFirmware(
  ctx: FleetContext,
  { organizationId, ...image }: NewFirmware,
): Promise<FirmwareImage> {
  authorize(ctx.principal, organizationId, 'job:create')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    await requireRoom(connection, organizationId)
    const id = newId()
    const { rows } = await connection
      .query<FirmwareRow>(
        `INSERT INTO firmware_image (id, organization_id, version, url, sha256, size_bytes, models, notes, created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, uuid_extract_timestamp($1)) RETURNING ${firmwareColumns}`,
        [
          id,
          organizationId,
          image.version,
          image.url,
          image.sha256,
          image.sizeBytes ?? null,
          image.models ?? [],
          image.notes ?? null,
          ctx.principal.id,
        ],
      )
      .catch(rejectTaken)
    const detail = { version: image.version, models: image.models ?? [] }
    const subject = { organizationId, subjectType: 'firmware_image', subjectId: id }
    await auditCaller(ctx, connection, { ...subject, action: 'firmware_image.added', detail })
    const [row] = rows
    if (!row) throw new Error('The firmware image was not written.')
    return toFirmwareImage(row)
  })
}

/** Removes a firmware image from the catalogue (`job:create`). Jobs that use it continue. Throws 404 and 402. */
export async function deleteFirmware(ctx: FleetContext, { organizationId, imageId }: FirmwareReference): Promise<void> {
  await authorizeObject(ctx, organizationId, 'job:create', 'firmware image', imageId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const { rows } = await connection.query<{ version: string }>(
      'DELETE FROM firmware_image WHERE organization_id = $1 AND id = $2 RETURNING version',
      [organizationId, isUuid(imageId) ? imageId : null],
    )
    if (!rows[0]) throw notFound('firmware image', imageId)
    const subject = { organizationId, subjectType: 'firmware_image', subjectId: imageId }
    await auditCaller(ctx, connection, { ...subject, action: 'firmware_image.deleted', detail: rows[0] })
  })
}

/** Throws 409 when the organization has the most images. The lock serializes concurrent creations. */
async function requireRoom(connection: Connection, organizationId: string): Promise<void> {
  await connection.query('SELECT FROM organization_usage WHERE organization_id = $1 FOR NO KEY UPDATE', [
    organizationId,
  ])
  const { rows } = await connection.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM firmware_image WHERE organization_id = $1',
    [organizationId],
  )
  if ((rows[0]?.count ?? 0) < maxImages) return
  throw conflict('firmware_limit_reached', `An organization can have at most ${maxImages} firmware images.`, {
    limit: maxImages,
  })
}

function rejectTaken(error: unknown): never {
  if (!isUniqueViolation(error, 'firmware_image_taken')) throw error
  throw conflict('firmware_taken', 'The catalogue already has an image with this SHA-256.')
}
