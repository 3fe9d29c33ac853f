import { conflict } from '#core/errors'
import { newId } from '#core/ids'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import {
  type FirmwareImage,
  type FirmwareReference,
  firmwareAccess,
  firmwareColumns,
  redactImage,
} from '#fleet/firmware/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { changeObject, createObject } from '#fleet/verbs'
import { queryEntity } from '#postgres/entities'
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
export const addFirmware = (
  ctx: FleetContext,
  { organizationId, version, url, sha256, sizeBytes, models = [], notes }: NewFirmware,
): Promise<FirmwareImage> =>
  createObject(ctx, { scope: 'job:create', organizationId }, async (connection) => {
    const id = newId()
    const image = await queryEntity<FirmwareImage>(
      connection,
      `INSERT INTO firmware_image (id, organization_id, version, url, sha256, size_bytes, models, notes, created_by, created_at)
       VALUES ($id, $organizationId, $version, $url, $sha256, $sizeBytes, $models, $notes, $createdBy, uuid_extract_timestamp($id))
       RETURNING ${firmwareColumns}`,
      { id, organizationId, version, url, sha256, sizeBytes, models, notes, createdBy: ctx.principal.id },
    ).catch(rejectTaken)
    await auditObject(ctx, connection, 'firmware_image.added', { organizationId, id }, { version, models })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'firmwareImages' })
    return redactImage(image)
  })

/** Removes a firmware image from the catalogue (`job:create`). Jobs that use it continue. Throws 404 and 402. */
export const deleteFirmware = (ctx: FleetContext, reference: FirmwareReference): Promise<void> =>
  changeObject(ctx, firmwareAccess(reference, 'job:create'), async (connection) => {
    const { organizationId, imageId } = reference
    const detail = await queryEntity<{ version: string }>(
      connection,
      'DELETE FROM firmware_image WHERE organization_id = $organizationId AND id = $imageId RETURNING version',
      reference,
    )
    await auditObject(ctx, connection, 'firmware_image.deleted', { organizationId, id: imageId }, detail)
  })

function rejectTaken(error: unknown): never {
  if (!isUniqueViolation(error, 'firmware_image_taken')) throw error
  throw conflict('firmware_taken', 'The catalogue already has an image with this SHA-256.')
}
