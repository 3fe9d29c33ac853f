import { z } from 'zod'
import { notFound } from '#core/errors'
import { instantOut, uuid } from '#core/schemas'
import { issueToken } from '#core/tokens'
import { expiresInThePast } from '#fleet/access/api-keys'
import { authorizeFound } from '#fleet/access/authorize-object'
import { authorize, authorizeAll, sees } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireGroup } from '#fleet/groups/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, queryPageByTime } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntity } from '#postgres/entities'

/** A key with which routers enroll, without its secret. */
export const enrollmentKeySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    autoCreate: z.boolean(),
    allowGateway: z.boolean().describe('A gateway may speak for registered devices with the key.'),
    groupId: uuid()
      .nullable()
      .describe('The gateway may speak for the effective members of this group only; null for all devices.'),
    models: z.array(z.string()).nullable().describe('Allowed models; null for any model.'),
    maxDevices: z.int().nullable(),
    enrolledCount: z.int(),
    createdAt: instantOut(),
    expiresAt: instantOut().nullable(),
  })
  .meta({ id: 'EnrollmentKey' })

export type EnrollmentKey = z.infer<typeof enrollmentKeySchema>

type NewEnrollmentKey = {
  organizationId: string
  name: string
  autoCreate: boolean
  allowGateway?: boolean | undefined
  /** Only with `allowGateway`. */
  groupId?: string | undefined
  models?: string[] | undefined
  maxDevices?: number | undefined
  expiresAt?: Date | undefined
}

const columns = `id, name, auto_create AS "autoCreate", allow_gateway AS "allowGateway", gateway_group_id AS "groupId", models,
  max_devices AS "maxDevices", enrolled_count AS "enrolledCount", created_at AS "createdAt", expires_at AS "expiresAt"`

/**
 * The scopes for a key. A gateway's key also reads the configuration of devices with its secrets, and takes their jobs.
 */
const scopesFor = ({ allowGateway }: Pick<NewEnrollmentKey, 'allowGateway'>): Scope[] => [
  'org:write',
  ...(allowGateway ? (['device:update', 'config:apply'] as const) : []),
]

/**
 * Creates an enrollment key (`org:write`, for `allowGateway` also `device:update` and `config:apply`). Throws 404 for a group
 * that the organization does not have, and 409 `limit_reached`. The plain key is returned only here.
 */
export async function createEnrollmentKey(
  ctx: FleetContext,
  { organizationId, ...input }: NewEnrollmentKey,
): Promise<EnrollmentKey & { key: string }> {
  if (input.expiresAt && input.expiresAt.getTime() <= ctx.clock()) throw expiresInThePast()
  if (input.groupId !== undefined) {
    if (!sees(ctx.principal, organizationId)) throw notFound('organization', organizationId)
    await requireGroup(ctx.pool, { organizationId, groupId: input.groupId })
  }
  authorizeAll(ctx.principal, organizationId, scopesFor(input))
  await requireOrganization(ctx, organizationId)
  const issued = issueToken('fle')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { name, autoCreate, allowGateway = false, groupId, models, maxDevices, expiresAt } = input
    const key = await queryEntity<EnrollmentKey>(
      connection,
      `INSERT INTO enrollment_key (id, organization_id, name, token_hash, auto_create, models, max_devices, created_by,
         expires_at, allow_gateway, gateway_group_id)
       VALUES ($id, $organizationId, $name, $tokenHash, $autoCreate, $models, $maxDevices, $createdBy,
         $expiresAt, $allowGateway, $groupId) RETURNING ${columns}`,
      {
        ...{ id: issued.id, organizationId, tokenHash: issued.hash, createdBy: ctx.principal.id },
        ...{ name, autoCreate, models, maxDevices, expiresAt, allowGateway, groupId },
      },
    )
    await auditObject(
      ctx,
      connection,
      'enrollment_key.created',
      { organizationId, id: issued.id },
      {
        name,
        ...(allowGateway ? { allowGateway } : {}),
        ...(groupId ? { groupId } : {}),
      },
    )
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'enrollmentKeys' })
    return { ...key, key: issued.token }
  })
}

/** The organization's enrollment keys that are not revoked, newest first (`org:write`). */
export async function listEnrollmentKeys(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<EnrollmentKey>> {
  authorize(ctx.principal, organizationId, 'org:write')
  await requireOrganization(ctx, organizationId)
  return queryPageByTime(
    ctx.pool,
    `SELECT ${columns}, created_at::text AS "createdText" FROM enrollment_key
      WHERE organization_id = $organizationId AND revoked_at IS NULL
        AND ($afterTime::timestamptz IS NULL OR (created_at, id) < ($afterTime, $afterId))
      ORDER BY created_at DESC, id DESC LIMIT $limit`,
    { organizationId },
    page,
  )
}

/** Revokes an enrollment key (`org:write`); routers that enrolled with it keep their own tokens. Throws 404. */
export async function revokeEnrollmentKey(
  ctx: FleetContext,
  { organizationId, keyId }: { organizationId: string; keyId: string },
): Promise<void> {
  await authorizeFound(ctx, organizationId, 'org:write', {
    kind: 'enrollment key',
    id: keyId,
    find: () =>
      ctx.pool.query('SELECT FROM enrollment_key WHERE organization_id = $1 AND id = $2 AND revoked_at IS NULL', [
        organizationId,
        keyId,
      ]),
  })
  await requireOrganization(ctx, organizationId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rowCount } = await connection.query(
      'UPDATE enrollment_key SET revoked_at = now() WHERE organization_id = $1 AND id = $2 AND revoked_at IS NULL',
      [organizationId, keyId],
    )
    if (!rowCount) throw notFound('enrollment key', keyId)
    await auditObject(ctx, connection, 'enrollment_key.revoked', { organizationId, id: keyId })
  })
}
