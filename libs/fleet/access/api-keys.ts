import { badRequest, insufficientScope, notFound } from '#core/errors'
import { issueToken } from '#core/tokens'
import { authorize, holds } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { decodePosition, encodePosition } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

/** What a key may do in one organization; `platform` is asked for here only to be refused. */
export type RequestedGrant = { organizationId: string; scopes: readonly (Scope | 'platform')[] }

/** A key as it is listed in an organization, never with its secret. */
export type ApiKey = {
  id: string
  name: string
  scopes: Scope[]
  /** Further organizations; shown only where the key belongs. */
  alsoIn: { organizationId: string; scopes: Scope[] }[]
  createdBy: string
  createdAt: string
  expiresAt: string | null
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
}

const toApiKey = (row: KeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  alsoIn: row.also_in ?? [],
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
})

// $1: the organization it is listed in.
const selectKeys = `
  SELECT k.id, k.name, g.scopes, k.created_by, k.created_at, k.created_at::text AS created_text, k.expires_at,
         CASE WHEN k.organization_id = $1 THEN (
           SELECT jsonb_agg(jsonb_build_object('organizationId', o.organization_id, 'scopes', o.scopes) ORDER BY o.organization_id)
             FROM api_key_grant o WHERE o.api_key_id = k.id AND o.organization_id <> $1) END AS also_in
    FROM api_key_grant g JOIN api_key k ON k.id = g.api_key_id
   WHERE g.organization_id = $1 AND k.revoked_at IS NULL`

export type NewApiKey = { name: string; grants: readonly RequestedGrant[]; expiresAt?: Date | undefined }

/**
 * Creates a key of the first grant's organization (`key:manage` in every organization of the grants). A key may only be
 * given scopes that its creator holds there, and never `platform` (403). The plain key is returned this once.
 */
export async function createApiKey(ctx: FleetContext, input: NewApiKey): Promise<ApiKey & { key: string }> {
  const grants = mergeGrants(input.grants)
  const organizationIds = [...grants.keys()]
  const home = organizationIds[0]
  if (home === undefined) throw new TypeError('A key needs an organization.')
  if (input.expiresAt && input.expiresAt.getTime() <= ctx.clock()) {
    throw badRequest('/expiresAt: it is in the past.', [
      { pointer: '/expiresAt', code: 'in_the_past', detail: 'It is in the past.' },
    ])
  }
  for (const organizationId of organizationIds) {
    await requireOrganization(ctx, organizationId)
    authorize(ctx.principal, organizationId, 'key:manage')
  }
  for (const [organizationId, scopes] of grants) requireHeld(ctx, organizationId, scopes)
  const issued = issueToken('flk')
  return tenantTransaction(ctx, organizationIds, async (connection) => {
    await connection.query(
      `INSERT INTO api_key (id, organization_id, name, token_hash, created_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
      [issued.id, home, input.name, issued.hash, ctx.principal.id, input.expiresAt ?? null],
    )
    for (const [organizationId, scopes] of grants) {
      await connection.query('INSERT INTO api_key_grant (api_key_id, organization_id, scopes) VALUES ($1, $2, $3)', [
        issued.id,
        organizationId,
        scopes,
      ])
    }
    await audit(ctx, connection, 'api_key.created', issued.id, organizationIds, { name: input.name })
    const { rows } = await connection.query<KeyRow>(`${selectKeys} AND k.id = $2`, [home, issued.id])
    if (!rows[0]) throw new Error('The key was not inserted.')
    return { ...toApiKey(rows[0]), key: issued.token }
  })
}

/** One entry for each organization, each scope once, in the order given. */
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

/** The keys that open an organization, newest first (`key:manage`): its own, and others' that were given scopes in it. */
export async function listApiKeys(
  ctx: FleetContext,
  organizationId: string,
  page: { limit: number; after: string | undefined },
): Promise<{ items: ApiKey[]; nextAfter: string | null }> {
  await requireOrganization(ctx, organizationId)
  authorize(ctx.principal, organizationId, 'key:manage')
  const after = decodePosition(page.after)
  const { rows } = await ctx.pool.query<KeyRow>(
    `${selectKeys} AND ($2::timestamptz IS NULL OR (k.created_at, k.id) < ($2, $3))
     ORDER BY k.created_at DESC, k.id DESC LIMIT $4`,
    [organizationId, after?.at ?? null, after?.id ?? null, page.limit + 1],
  )
  const shown = rows.slice(0, page.limit)
  return { items: shown.map(toApiKey), nextAfter: encodePosition(rows.length > page.limit ? shown.at(-1) : undefined) }
}

/**
 * Revokes a key of the organization, and with it every access token derived from it; a key of another organization only
 * loses what it was given here (`key:manage`). Throws 404.
 */
export async function revokeApiKey(ctx: FleetContext, organizationId: string, keyId: string): Promise<void> {
  await requireOrganization(ctx, organizationId)
  authorize(ctx.principal, organizationId, 'key:manage')
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const revoked = await connection.query(
      'UPDATE api_key SET revoked_at = now() WHERE id = $1 AND organization_id = $2 AND revoked_at IS NULL',
      [keyId, organizationId],
    )
    const withdrawn =
      revoked.rowCount ||
      (
        await connection.query(
          'DELETE FROM api_key_grant WHERE api_key_id = $1 AND organization_id = $2 AND EXISTS (SELECT FROM api_key k WHERE k.id = $1 AND k.organization_id <> $2 AND k.revoked_at IS NULL)',
          [keyId, organizationId],
        )
      ).rowCount
    if (!withdrawn) throw notFound('API key', keyId)
    await audit(ctx, connection, 'api_key.revoked', keyId, [organizationId], {})
  })
}

const audit = (
  ctx: FleetContext,
  connection: Connection,
  action: string,
  keyId: string,
  organizationIds: readonly string[],
  detail: Record<string, unknown>,
): Promise<void> =>
  recordAudit(
    connection,
    organizationIds.map((organizationId) => ({
      organizationId,
      actor: ctx.principal.id,
      action,
      subjectType: 'api_key',
      subjectId: keyId,
      detail,
      requestId: ctx.requestId,
    })),
  )
