import { z } from 'zod'
import { badRequest, insufficientScope, notFound } from '#core/errors'
import { instantOut, uuid } from '#core/schemas'
import { issueToken } from '#core/tokens'
import { authorizeFound } from '#fleet/access/authorize-object'
import { authorize, holds } from '#fleet/access/principal'
import { roleNames, roleWith, type Scope, scopes } from '#fleet/access/scopes'
import { rememberActors } from '#fleet/audit/actor-names'
import { auditCaller, auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, queryPageByTime } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { named } from '#postgres/named'
import type { Connection } from '#postgres/pool'

/** The scopes requested for a key in one organization. `platform` can be requested and is always refused. */
type RequestedGrant = { organizationId: string; scopes: readonly (Scope | 'platform')[] }

/** An API key without its secret, as an organization lists it. */
export const apiKeySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(scopes)).describe('Scopes of the key in this organization.'),
    role: z.enum(roleNames).nullable().describe('The role with exactly these scopes; null if there is none.'),
    alsoIn: z
      .array(z.object({ organizationId: uuid(), scopes: z.array(z.enum(scopes)) }))
      .describe('Scopes in other organizations. Only the organization that owns the key sees them.'),
    createdBy: z.string(),
    createdAt: instantOut(),
    expiresAt: instantOut().nullable(),
    lastUsedAt: instantOut().nullable().describe('To within a minute; null if the key was never used.'),
  })
  .meta({ id: 'ApiKey' })

export const newApiKeySchema = apiKeySchema
  .pick({ id: true, name: true, scopes: true })
  .extend({ key: z.string() })
  .meta({ id: 'NewApiKey' })

type ApiKey = z.infer<typeof apiKeySchema>
type IssuedApiKey = z.infer<typeof newApiKeySchema>

type NewApiKey = { name: string; grants: readonly RequestedGrant[]; expiresAt?: Date | undefined }

/**
 * Creates a key in the organization of the first grant (`key:manage` in every organization of the grants). Throws 403 for
 * scopes that the creator does not hold, and for `platform`, and 409 `limit_reached`. The plain key is returned only here.
 */
export async function createApiKey(ctx: FleetContext, input: NewApiKey): Promise<IssuedApiKey> {
  if (input.expiresAt && input.expiresAt.getTime() <= ctx.clock()) throw expiresInThePast()
  const requested = mergeGrants(input.grants)
  const organizationIds = [...requested.keys()]
  const home = organizationIds[0]
  if (home === undefined) throw new TypeError('A key needs an organization.')
  for (const organizationId of organizationIds) {
    authorize(ctx.principal, organizationId, 'key:manage')
    await requireOrganization(ctx, organizationId)
  }
  const grants = requireHeld(ctx, requested)
  return tenantTransaction(ctx, organizationIds, async (connection) => {
    const issued = await insertKey(ctx, connection, { name: input.name, home, grants, expiresAt: input.expiresAt })
    const subject = { subjectId: issued.id, detail: { name: input.name } }
    const created = organizationIds.map((organizationId) => ({ organizationId, action: 'api_key.created', ...subject }))
    await auditCaller(ctx, connection, ...created)
    await requireRoomForKey(ctx, connection, organizationIds)
    return issued
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
  grants: ReadonlyMap<string, readonly Scope[]>
  expiresAt?: Date | null | undefined
}

async function insertKey(
  ctx: FleetContext,
  connection: Connection,
  { name, home, grants, expiresAt }: KeyToInsert,
): Promise<IssuedApiKey> {
  const { id, hash, token } = issueToken('flk')
  await connection.query(
    named(
      `INSERT INTO api_key (id, organization_id, name, token_hash, created_by, expires_at)
       VALUES ($id, $home, $name, $hash, $createdBy, $expiresAt)`,
      { id, home, name, hash, createdBy: ctx.principal.id, expiresAt },
    ),
  )
  for (const [organizationId, granted] of grants) {
    await connection.query('INSERT INTO api_key_grant (api_key_id, organization_id, scopes) VALUES ($1, $2, $3)', [
      id,
      organizationId,
      granted,
    ])
  }
  await rememberActors(
    connection,
    [...grants.keys()].map((organizationId) => ({ organizationId, actor: `key:${id}`, name })),
  )
  return { id, name, scopes: [...(grants.get(home) ?? [])], key: token }
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

/** Returns the grants. Throws 403 for a scope that the caller does not hold in its organization. */
function requireHeld(ctx: FleetContext, grants: ReadonlyMap<string, readonly (Scope | 'platform')[]>) {
  const held = new Map<string, readonly Scope[]>()
  for (const [organizationId, wanted] of grants) {
    const isHeld = (scope: Scope | 'platform') => scope !== 'platform' && holds(ctx.principal, organizationId, scope)
    const missing = wanted.find((scope) => !isHeld(scope))
    if (missing !== undefined) throw insufficientScope(missing)
    held.set(
      organizationId,
      wanted.filter((scope) => scope !== 'platform'),
    )
  }
  return held
}

/** The keys with grants in an organization, newest first: its own and those of other organizations (`key:manage`). */
export async function listApiKeys(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<ApiKey>> {
  authorize(ctx.principal, organizationId, 'key:manage')
  await requireOrganization(ctx, organizationId)
  const { items, nextAfter } = await queryPageByTime<Omit<ApiKey, 'role'>>(
    ctx.pool,
    `SELECT k.id, k.name, g.scopes, coalesce(CASE WHEN k.organization_id = $organizationId THEN (
         SELECT jsonb_agg(jsonb_build_object('organizationId', o.organization_id, 'scopes', o.scopes) ORDER BY o.organization_id)
         FROM api_key_grant o WHERE o.api_key_id = k.id AND o.organization_id <> $organizationId) END, '[]') AS "alsoIn",
       k.created_by AS "createdBy", k.created_at AS "createdAt", k.created_at::text AS "createdText",
       k.expires_at AS "expiresAt", u.last_used_at AS "lastUsedAt"
     FROM api_key_grant g JOIN api_key k ON k.id = g.api_key_id LEFT JOIN api_key_use u ON u.api_key_id = k.id
     WHERE g.organization_id = $organizationId AND k.revoked_at IS NULL
       AND ($afterTime::timestamptz IS NULL OR (k.created_at, k.id) < ($afterTime, $afterId))
     ORDER BY k.created_at DESC, k.id DESC LIMIT $limit`,
    { organizationId },
    page,
  )
  return { items: items.map((key) => ({ ...key, role: roleWith(key.scopes) })), nextAfter }
}

type Rotation = { organizationId: string; keyId: string; oldKeyExpiresInMinutes: number }

/**
 * Replaces a key of the organization with a new one that has the same name, scopes and expiry (`key:manage` in every
 * organization of the key). The old key works until its grace period ends. Throws 404, and 403 for scopes that the caller
 * does not hold. The plain key is returned only here.
 */
export async function rotateApiKey(ctx: FleetContext, input: Rotation): Promise<IssuedApiKey> {
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
    requireHeld(ctx, new Map([[granted, scopes]]))
  }
  return tenantTransaction(ctx, [...grants.keys()], async (connection) => {
    const { rows } = await connection.query<{ name: string; expiresAt: Date | null }>(
      `SELECT name, expires_at AS "expiresAt" FROM api_key
       WHERE id = $1 AND organization_id = $2 AND ${isValid} FOR UPDATE`,
      [keyId, organizationId],
    )
    const old = rows[0]
    if (!old) throw notFound('API key', keyId)
    const issued = await insertKey(ctx, connection, { ...old, home: organizationId, grants })
    await endKey(connection, keyId, oldKeyExpiresInMinutes)
    const detail = { name: old.name, newKeyId: issued.id }
    await auditObject(ctx, connection, 'api_key.rotated', { organizationId, id: keyId }, detail)
    if (oldKeyExpiresInMinutes > 0) await requireRoomForKey(ctx, connection, [...grants.keys()])
    return issued
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
    find: () =>
      ctx.pool.query(
        `SELECT FROM api_key_grant g JOIN api_key k ON k.id = g.api_key_id
         WHERE g.organization_id = $1 AND k.id = $2 AND k.revoked_at IS NULL`,
        [organizationId, keyId],
      ),
  })
  await requireOrganization(ctx, organizationId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const isRevoked =
      (await revokeOwnKey(connection, organizationId, keyId)) || (await revokeGrant(connection, organizationId, keyId))
    if (!isRevoked) throw notFound('API key', keyId)
    await auditObject(ctx, connection, 'api_key.revoked', { organizationId, id: keyId })
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
