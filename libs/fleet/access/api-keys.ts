import { badRequest, insufficientScope, notFound } from '#core/errors'
import { issueToken } from '#core/tokens'
import { authorizeFound } from '#fleet/access/authorize-object'
import { authorize, holds } from '#fleet/access/principal'
import { type RoleName, roleWith, type Scope } from '#fleet/access/scopes'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { decodePosition, encodePosition, type Page, type PageRequest, pageBy } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

/** The scopes requested for a key in one organization. `platform` can be requested and is always refused. */
type RequestedGrant = { organizationId: string; scopes: readonly (Scope | 'platform')[] }

/** An API key without its secret, as an organization lists it. */
type ApiKey = {
  id: string
  name: string
  scopes: Scope[]
  role: RoleName | null
  /** Grants in other organizations; listed only in the organization that owns the key. */
  alsoIn: { organizationId: string; scopes: Scope[] }[]
  createdBy: string
  createdAt: string
  expiresAt: string | null
  /** To within a minute; null if the key was never used. */
  lastUsedAt: string | null
}

type KeyRow = {
  id: string
  name: string
  scopes: Scope[]
  also_in: { organizationId: string; scopes: Scope[] }[] | null
  created_by: string
  created_at: Date
  created_text: string
  expires_at: Date | null
  last_used_at: Date | null
}

const toApiKey = (row: KeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  role: roleWith(row.scopes),
  alsoIn: row.also_in ?? [],
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
})

// $1: the organization it is listed in.
const selectKeys = `
  SELECT k.id, k.name, g.scopes, k.created_by, k.created_at, k.created_at::text AS created_text, k.expires_at, u.last_used_at,
         CASE WHEN k.organization_id = $1 THEN (
           SELECT jsonb_agg(jsonb_build_object('organizationId', o.organization_id, 'scopes', o.scopes) ORDER BY o.organization_id)
             FROM api_key_grant o WHERE o.api_key_id = k.id AND o.organization_id <> $1) END AS also_in
    FROM api_key_grant g JOIN api_key k ON k.id = g.api_key_id LEFT JOIN api_key_use u ON u.api_key_id = k.id
   WHERE g.organization_id = $1 AND k.revoked_at IS NULL`

type NewApiKey = { name: string; grants: readonly RequestedGrant[]; expiresAt?: Date | undefined }

/**
 * Creates a key in the organization of the first grant (`key:manage` in every organization of the grants). Throws 403 for
 * scopes that the creator does not hold, and for `platform`, and 409 `limit_reached`. The plain key is returned only here.
 */
export async function createApiKey(ctx: FleetContext, input: NewApiKey): Promise<ApiKey & { key: string }> {
  if (input.expiresAt && input.expiresAt.getTime() <= ctx.clock()) throw expiresInThePast()
  const grants = mergeGrants(input.grants)
  const organizationIds = [...grants.keys()]
  const home = organizationIds[0]
  if (home === undefined) throw new TypeError('A key needs an organization.')
  for (const organizationId of organizationIds) {
    authorize(ctx.principal, organizationId, 'key:manage')
    await requireOrganization(ctx, organizationId)
  }
  for (const [organizationId, scopes] of grants) requireHeld(ctx, organizationId, scopes)
  return tenantTransaction(ctx, organizationIds, async (connection) => {
    const issued = await insertKey(ctx, connection, { name: input.name, home, grants, expiresAt: input.expiresAt })
    const subject = { subjectType: 'api_key', subjectId: issued.id, detail: { name: input.name } }
    const created = organizationIds.map((organizationId) => ({ organizationId, action: 'api_key.created', ...subject }))
    await auditCaller(ctx, connection, ...created)
    await requireRoomForKey(ctx, connection, organizationIds)
    const { rows } = await connection.query<KeyRow>(`${selectKeys} AND k.id = $2`, [home, issued.id])
    if (!rows[0]) throw new Error('The key was not inserted.')
    return { ...toApiKey(rows[0]), key: issued.token }
  })
}

/** Throws 409 `limit_reached`. The order of the organizations prevents deadlocks. */
async function requireRoomForKey(
  ctx: FleetContext,
  connection: Connection,
  organizationIds: readonly string[],
): Promise<void> {
  for (const organizationId of organizationIds.toSorted()) {
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'apiKeys' })
  }
}

type KeyToInsert = {
  name: string
  home: string
  grants: ReadonlyMap<string, readonly (Scope | 'platform')[]>
  expiresAt?: Date | null | undefined
}

async function insertKey(
  ctx: FleetContext,
  connection: Connection,
  { name, home, grants, expiresAt }: KeyToInsert,
): Promise<{ id: string; token: string }> {
  const issued = issueToken('flk')
  await connection.query(
    `INSERT INTO api_key (id, organization_id, name, token_hash, created_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
    [issued.id, home, name, issued.hash, ctx.principal.id, expiresAt ?? null],
  )
  for (const [organizationId, scopes] of grants) {
    await connection.query('INSERT INTO api_key_grant (api_key_id, organization_id, scopes) VALUES ($1, $2, $3)', [
      issued.id,
      organizationId,
      scopes,
    ])
  }
  return issued
}

/** 400 for an expiry that is not in the future. */
export const expiresInThePast = () =>
  badRequest('/expiresAt: must be in the future.', [
    { pointer: '/expiresAt', code: 'in_the_past', detail: 'Must be in the future.' },
  ])

/** Merges the grants of each organization and removes duplicate scopes. Keeps the order. */
function mergeGrants(grants: readonly RequestedGrant[]): Map<string, (Scope | 'platform')[]> {
  const merged = new Map<string, (Scope | 'platform')[]>()
  for (const { organizationId, scopes } of grants) {
    merged.set(organizationId, [...new Set([...(merged.get(organizationId) ?? []), ...scopes])])
  }
  return merged
}

function requireHeld(ctx: FleetContext, organizationId: string, scopes: readonly (Scope | 'platform')[]): void {
  for (const scope of scopes) {
    if (scope === 'platform' || !holds(ctx.principal, organizationId, scope)) throw insufficientScope(scope)
  }
}

/** The keys with grants in an organization, newest first: its own and those of other organizations (`key:manage`). */
export async function listApiKeys(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<ApiKey>> {
  authorize(ctx.principal, organizationId, 'key:manage')
  await requireOrganization(ctx, organizationId)
  const after = decodePosition(page.after)
  const { rows } = await ctx.pool.query<KeyRow>(
    `${selectKeys} AND ($2::timestamptz IS NULL OR (k.created_at, k.id) < ($2, $3))
     ORDER BY k.created_at DESC, k.id DESC LIMIT $4`,
    [organizationId, after?.at ?? null, after?.id ?? null, page.limit + 1],
  )
  return pageBy(rows, page.limit, toApiKey, encodePosition)
}

type Rotation = { organizationId: string; keyId: string; oldKeyExpiresInMinutes: number }

/**
 * Replaces a key of the organization with a new one that has the same name, scopes and expiry (`key:manage` in every
 * organization of the key). The old key works until its grace period ends. Throws 404, and 403 for scopes that the caller
 * does not hold. The plain key is returned only here.
 */
export async function rotateApiKey(ctx: FleetContext, input: Rotation): Promise<ApiKey & { key: string }> {
  const { organizationId, keyId, oldKeyExpiresInMinutes } = input
  await authorizeFound(ctx, organizationId, 'key:manage', {
    kind: 'API key',
    id: keyId,
    find: () =>
      ctx.pool.query(`SELECT FROM api_key WHERE id = $1 AND organization_id = $2 AND ${isValid}`, [
        keyId,
        organizationId,
      ]),
  })
  await requireOrganization(ctx, organizationId)
  const grants = await grantsOfOwnKey(ctx, organizationId, keyId)
  for (const [granted, scopes] of grants) {
    authorize(ctx.principal, granted, 'key:manage')
    requireHeld(ctx, granted, scopes)
  }
  return tenantTransaction(ctx, [...grants.keys()], async (connection) => {
    const { rows } = await connection.query<{ name: string; expires_at: Date | null }>(
      `SELECT name, expires_at FROM api_key WHERE id = $1 AND organization_id = $2 AND ${isValid} FOR UPDATE`,
      [keyId, organizationId],
    )
    const old = rows[0]
    if (!old) throw notFound('API key', keyId)
    const issued = await insertKey(ctx, connection, {
      name: old.name,
      home: organizationId,
      grants,
      expiresAt: old.expires_at,
    })
    await endKey(connection, keyId, oldKeyExpiresInMinutes)
    const subject = { subjectType: 'api_key', subjectId: keyId, detail: { name: old.name, newKeyId: issued.id } }
    await auditCaller(ctx, connection, { organizationId, action: 'api_key.rotated', ...subject })
    if (oldKeyExpiresInMinutes > 0) await requireRoomForKey(ctx, connection, [...grants.keys()])
    const created = await connection.query<KeyRow>(`${selectKeys} AND k.id = $2`, [organizationId, issued.id])
    if (!created.rows[0]) throw new Error('The key was not inserted.')
    return { ...toApiKey(created.rows[0]), key: issued.token }
  })
}

const isValid = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())'

/** The grants of a valid key that the organization owns, its own first. Throws 404. */
async function grantsOfOwnKey(ctx: FleetContext, organizationId: string, keyId: string): Promise<Map<string, Scope[]>> {
  const { rows } = await ctx.pool.query<{ organization_id: string; scopes: Scope[] }>(
    `SELECT g.organization_id, g.scopes FROM api_key JOIN api_key_grant g ON g.api_key_id = api_key.id
      WHERE api_key.id = $1 AND api_key.organization_id = $2 AND ${isValid}
      ORDER BY g.organization_id <> $2`,
    [keyId, organizationId],
  )
  if (rows.length === 0) throw notFound('API key', keyId)
  return new Map(rows.map((row) => [row.organization_id, row.scopes]))
}

async function endKey(connection: Connection, keyId: string, inMinutes: number): Promise<void> {
  const change =
    inMinutes === 0 ? 'revoked_at = now()' : 'expires_at = least(expires_at, now() + make_interval(mins => $2))'
  await connection.query(`UPDATE api_key SET ${change} WHERE id = $1`, inMinutes === 0 ? [keyId] : [keyId, inMinutes])
}

/**
 * Revokes a key of the organization and its access tokens. For a key of another organization, revokes only its grant here
 * (`key:manage`). Throws 404.
 */
export async function revokeApiKey(
  ctx: FleetContext,
  { organizationId, keyId }: { organizationId: string; keyId: string },
): Promise<void> {
  await authorizeFound(ctx, organizationId, 'key:manage', {
    kind: 'API key',
    id: keyId,
    find: () => ctx.pool.query(`${selectKeys} AND k.id = $2`, [organizationId, keyId]),
  })
  await requireOrganization(ctx, organizationId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const isRevoked =
      (await revokeOwnKey(connection, organizationId, keyId)) || (await revokeGrant(connection, organizationId, keyId))
    if (!isRevoked) throw notFound('API key', keyId)
    await auditCaller(ctx, connection, {
      organizationId,
      action: 'api_key.revoked',
      subjectType: 'api_key',
      subjectId: keyId,
    })
  })
}

async function revokeOwnKey(connection: Connection, organizationId: string, keyId: string): Promise<boolean> {
  const { rowCount } = await connection.query(
    'UPDATE api_key SET revoked_at = now() WHERE id = $1 AND organization_id = $2 AND revoked_at IS NULL',
    [keyId, organizationId],
  )
  return rowCount !== 0
}

async function revokeGrant(connection: Connection, organizationId: string, keyId: string): Promise<boolean> {
  const { rowCount } = await connection.query(
    `DELETE FROM api_key_grant WHERE api_key_id = $1 AND organization_id = $2
       AND EXISTS (SELECT FROM api_key k WHERE k.id = $1 AND k.organization_id <> $2 AND k.revoked_at IS NULL)`,
    [keyId, organizationId],
  )
  return rowCount !== 0
}
