import { z } from 'zod'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { redactParameters } from '#fleet/jobs/model/kinds'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

export const firmwareSchema = z
  .object({
    id: uuid(),
    version: z.string(),
    url: z.string().describe('The query is redacted.'),
    sha256: z.string(),
    sizeBytes: z.int().nullable(),
    models: z.array(z.string()).describe('The router models that can run the image; empty for any model.'),
    notes: z.string().nullable(),
    createdBy: z.string().describe('`key:…`, `person:…` or `user:…`.'),
    createdAt: instantOut(),
  })
  .meta({ id: 'FirmwareImage' })

export type FirmwareImage = z.infer<typeof firmwareSchema>

export type FirmwareReference = { organizationId: string; imageId: string }

export const firmwareAccess = ({ organizationId, imageId }: FirmwareReference, scope: Scope) =>
  ({ scope, noun: 'firmware image', organizationId, id: imageId }) as const

/** The columns of a `FirmwareImage` with its whole URL, which only the device receives. */
export const firmwareColumns = `id, version, url, sha256, size_bytes::float8 AS "sizeBytes", models, notes,
  created_by AS "createdBy", created_at AS "createdAt"`

/** Redacts the query of the URL, because it is often a signature. */
export const redactImage = (image: FirmwareImage): FirmwareImage => ({
  ...image,
  url: String(redactParameters({ url: image.url }).url),
})

/** The organization's firmware images, newest first (`job:read`). Throws 404. */
export const listFirmware = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<FirmwareImage>> =>
  inOrganization(ctx, { scope: 'job:read', organizationId }, async (connection) => {
    const { items, nextAfter } = await queryPage<FirmwareImage>(
      connection,
      `SELECT ${firmwareColumns} FROM firmware_image
       WHERE organization_id = $organizationId AND ($after::uuid IS NULL OR id < $after) ORDER BY id DESC LIMIT $limit`,
      { organizationId },
      page,
    )
    return { items: items.map(redactImage), nextAfter }
  })

/** One firmware image (`job:read`). Throws 404. */
export const getFirmware = (ctx: FleetContext, reference: FirmwareReference): Promise<FirmwareImage> =>
  withObject(ctx, firmwareAccess(reference, 'job:read'), async (connection) =>
    redactImage(await readImage(connection, reference)),
  )

/** Returns the parameters of a `firmware_update` job, and the models that can run it; null for any. Throws 404. */
export async function readFirmwareContent(
  db: Queryable,
  reference: FirmwareReference,
): Promise<{ parameters: Record<string, unknown>; models: string[] | null }> {
  const { version, url, sha256, sizeBytes, models } = await readImage(db, reference)
  return {
    parameters: { version, url, sha256, ...(sizeBytes === null ? {} : { sizeBytes }) },
    models: models.length === 0 ? null : models,
  }
}

async function readImage(db: Queryable, { organizationId, imageId }: FirmwareReference): Promise<FirmwareImage> {
  const [image] = await queryEntities<FirmwareImage>(
    db,
    `SELECT ${firmwareColumns} FROM firmware_image WHERE organization_id = $organizationId AND id = $imageId`,
    { organizationId, imageId: isUuid(imageId) ? imageId : null },
  )
  if (!image) throw notFound('firmware image', imageId)
  return image
}
