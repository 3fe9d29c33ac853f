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
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { isUniqueViolation } from '#postgres/errors'

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
 * 409 `firmware_taken` or `limit_reached`.
 */
export async function addFirmware(
  ctx: FleetContext,
  { organizationId, ...image }: NewFirmware,
): Promise<FirmwareImage> {
  authorize(ctx.principal, organizationId, 'job:create')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
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
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'firmwareImages' })
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

function rejectTaken(error: unknown): never {
  if (!isUniqueViolation(error, 'firmware_image_taken')) throw error
  throw conflict('firmware_taken', 'The catalogue already has an image with this SHA-256.')
}
