import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { redactParameters } from '#fleet/jobs/model/kinds'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

export type FirmwareReference = { organizationId: string; imageId: string }

/** A firmware image of the catalogue. The query of its URL is redacted, because it is often a signature. */
export type FirmwareImage = {
  id: string
  version: string
  url: string
  sha256: string
  sizeBytes: number | null
  /** The router models that can run the image; empty for any model. */
  models: string[]
  notes: string | null
  createdBy: string
  createdAt: string
}

export type FirmwareRow = {
  id: string
  version: string
  url: string
  sha256: string
  size_bytes: string | null
  models: string[]
  notes: string | null
  created_by: string
  created_at: Date
}

export const firmwareColumns = 'id, version, url, sha256, size_bytes, models, notes, created_by, created_at'

const bytesOf = ({ size_bytes: bytes }: FirmwareRow): number | null => (bytes === null ? null : Number(bytes))

export const toFirmwareImage = (row: FirmwareRow): FirmwareImage => ({
  id: row.id,
  version: row.version,
  url: String(redactParameters({ url: row.url }).url),
  sha256: row.sha256,
  sizeBytes: bytesOf(row),
  models: row.models,
  notes: row.notes,
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
})

/** The organization's firmware images, newest first (`job:read`). Throws 404. */
export async function listFirmware(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<FirmwareImage>> {
  authorize(ctx.principal, organizationId, 'job:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<FirmwareRow>(
      `SELECT ${firmwareColumns} FROM firmware_image
       WHERE organization_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
      [organizationId, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toFirmwareImage)
  })
}

/** One firmware image (`job:read`). Throws 404. */
export async function getFirmware(ctx: FleetContext, reference: FirmwareReference): Promise<FirmwareImage> {
  const { organizationId, imageId } = reference
  await authorizeObject(ctx, organizationId, 'job:read', 'firmware image', imageId)
  return tenantTransaction(ctx, [organizationId], async (connection) =>
    toFirmwareImage(await readRow(connection, reference)),
  )
}

/** Returns the parameters of a `firmware_update` job, and the models that can run it; null for any. Throws 404. */
export async function readFirmwareContent(
  db: Queryable,
  reference: FirmwareReference,
): Promise<{ parameters: Record<string, unknown>; models: string[] | null }> {
  const row = await readRow(db, reference)
  const { version, url, sha256, models } = row
  const sizeBytes = bytesOf(row)
  return {
    parameters: { version, url, sha256, ...(sizeBytes === null ? {} : { sizeBytes }) },
    models: models.length === 0 ? null : models,
  }
}

async function readRow(db: Queryable, { organizationId, imageId }: FirmwareReference): Promise<FirmwareRow> {
  const { rows } = await db.query<FirmwareRow>(
    `SELECT ${firmwareColumns} FROM firmware_image WHERE organization_id = $1 AND id = $2`,
    [organizationId, isUuid(imageId) ? imageId : null],
  )
  if (!rows[0]) throw notFound('firmware image', imageId)
  return rows[0]
}
