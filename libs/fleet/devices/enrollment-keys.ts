import { notFound } from '#core/errors'
import { issueToken } from '#core/tokens'
import { expiresInThePast } from '#fleet/access/api-keys'
import { authorizeFound } from '#fleet/access/authorize-object'
import { authorize, authorizeAll, sees } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { decodePosition, encodePosition, type Page, type PageRequest, pageBy } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

/** A key with which routers enroll, without its secret. */
type EnrollmentKey = {
  id: string
  name: string
  /** Registers unknown serials. Otherwise only registered devices may enroll. */
  autoCreate: boolean
  /** A gateway may report with the key for registered devices of the organization. */
  allowGateway: boolean
  /** The group to whose effective members the gateway is limited; null for all devices of the organization. */
  groupId: string | null
  /** Null: any model. */
  models: string[] | null
  maxDevices: number | null
  enrolledCount: number
  createdAt: string
  expiresAt: string | null
}

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

type EnrollmentKeyRow = {
  id: string
  name: string
  auto_create: boolean
  allow_gateway: boolean
  gateway_group_id: string | null
  models: string[] | null
  max_devices: number | null
  enrolled_count: number
  created_at: Date
  created_text: string
  expires_at: Date | null
}

const columns =
  'id, name, auto_create, allow_gateway, gateway_group_id, models, max_devices, enrolled_count, created_at, created_at::text AS created_text, expires_at'

const toEnrollmentKey = (row: EnrollmentKeyRow): EnrollmentKey => ({
  id: row.id,
  name: row.name,
  autoCreate: row.auto_create,
  allowGateway: row.allow_gateway,
  groupId: row.gateway_group_id,
  models: row.models,
  maxDevices: row.max_devices,
  enrolledCount: row.enrolled_count,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
})

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
  if (input.groupId !== undefined) await requireGroup(ctx, organizationId, input.groupId)
  authorizeAll(ctx.principal, organizationId, scopesFor(input))
  await requireOrganization(ctx, organizationId)
  const issued = issueToken('fle')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<EnrollmentKeyRow>(
      `INSERT INTO enrollment_key (id, organization_id, name, token_hash, auto_create, models, max_devices, created_by, expires_at, allow_gateway,
         gateway_group_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${columns}`,
      [
        issued.id,
        organizationId,
        input.name,
        issued.hash,
        input.autoCreate,
        input.models ?? null,
        input.maxDevices ?? null,
        ctx.principal.id,
        input.expiresAt ?? null,
        input.allowGateway ?? false,
        input.groupId ?? null,
      ],
    )
    if (!rows[0]) throw new Error('The key was not inserted.')
    await audit(ctx, connection, 'enrollment_key.created', organizationId, issued.id, {
      name: input.name,
      ...(input.allowGateway ? { allowGateway: true } : {}),
      ...(input.groupId ? { groupId: input.groupId } : {}),
    })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'enrollmentKeys' })
    return { ...toEnrollmentKey(rows[0]), key: issued.token }
  })
}

/** Throws 404, for a caller who sees the organization, if it has no such group. */
async function requireGroup({ principal, pool }: FleetContext, organizationId: string, groupId: string): Promise<void> {
  if (!sees(principal, organizationId)) throw notFound('organization', organizationId)
  const { rowCount } = await pool.query('SELECT FROM device_group WHERE organization_id = $1 AND id = $2', [
    organizationId,
    groupId,
  ])
  if (!rowCount) throw notFound('group', groupId)
}

/** The organization's enrollment keys that are not revoked, newest first (`org:write`). */
export async function listEnrollmentKeys(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<EnrollmentKey>> {
  authorize(ctx.principal, organizationId, 'org:write')
  await requireOrganization(ctx, organizationId)
  const after = decodePosition(page.after)
  const { rows } = await ctx.pool.query<EnrollmentKeyRow>(
    `SELECT ${columns} FROM enrollment_key
      WHERE organization_id = $1 AND revoked_at IS NULL AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
      ORDER BY created_at DESC, id DESC LIMIT $4`,
    [organizationId, after?.at ?? null, after?.id ?? null, page.limit + 1],
  )
  return pageBy(rows, page.limit, toEnrollmentKey, encodePosition)
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
    await audit(ctx, connection, 'enrollment_key.revoked', organizationId, keyId, {})
  })
}

const audit = (
  ctx: FleetContext,
  connection: Connection,
  action: string,
  organizationId: string,
  keyId: string,
  detail: Record<string, unknown>,
): Promise<void> =>
  auditCaller(ctx, connection, { organizationId, action, subjectType: 'enrollment_key', subjectId: keyId, detail })
