import { hashToken, issueToken, parseToken } from '#core/tokens'
import { scopesOfRole } from '#fleet/access/scopes'
import type { SystemContext } from '#fleet/context'
import { insertOrganization } from '#fleet/organizations/organizations'
import { type Connection, type Queryable, transaction } from '#postgres/pool'

/** Keys in plain text. The database stores only their hashes. */
type Access = {
  /** A platform administrator: every scope in every organization. */
  adminKey: string
  /** The key of an operator of the demo organization; null without a demo. */
  demoKey: string | null
  demoOrganizationId: string | null
  /** The key with which the simulated routers of the demo fleet enroll. Each start replaces it. */
  demoEnrollmentKey: string | null
}

type WantedAccess = {
  demo: boolean
  existing?: { adminKey?: string | null | undefined; demoKey?: string | null | undefined }
}

const demoName = 'Demo fleet'

/**
 * Ensures that there is a platform key and, with `demo`, a demo organization with an operator's key and an enrollment key.
 * Keeps the keys of `existing` that are still valid and issues new ones for the others.
 */
export function ensureAccess(
  { pool }: Pick<SystemContext, 'pool'>,
  { demo, existing = {} }: WantedAccess,
): Promise<Access> {
  return transaction(pool, async (connection) => {
    await connection.query("SELECT pg_advisory_xact_lock(hashtext('ensure access'))")
    const adminKey = (await keyIfValid(connection, existing.adminKey, null)) ?? (await issueKey(connection, null))
    if (!demo) return { adminKey, demoKey: null, demoOrganizationId: null, demoEnrollmentKey: null }
    const demoOrganizationId = await ensureDemoOrganization(connection)
    const demoKey =
      (await keyIfValid(connection, existing.demoKey, demoOrganizationId)) ??
      (await issueKey(connection, demoOrganizationId))
    return {
      adminKey,
      demoKey,
      demoOrganizationId,
      demoEnrollmentKey: await issueEnrollmentKey(connection, demoOrganizationId),
    }
  })
}

async function keyIfValid(
  db: Queryable,
  key: string | null | undefined,
  organizationId: string | null,
): Promise<string | undefined> {
  if (!key || parseToken(key)?.prefix !== 'flk') return undefined
  const { rowCount } = await db.query(
    `SELECT 1 FROM api_key WHERE token_hash = $1 AND organization_id IS NOT DISTINCT FROM $2::uuid
        AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    [hashToken(key), organizationId],
  )
  return rowCount ? key : undefined
}

async function ensureDemoOrganization(connection: Connection): Promise<string> {
  const { rows } = await connection.query<{ organization_id: string }>(
    "SELECT organization_id FROM enrollment_key WHERE created_by = 'system:demo' LIMIT 1",
  )
  return rows[0]?.organization_id ?? (await insertOrganization(connection, demoName, 'enterprise')).id
}

async function issueKey(connection: Connection, organizationId: string | null): Promise<string> {
  const issued = issueToken('flk')
  await connection.query(
    `INSERT INTO api_key (id, organization_id, name, token_hash, platform, created_by) VALUES ($1, $2, $3, $4, $5, 'system')`,
    [
      issued.id,
      organizationId,
      organizationId ? 'Demo operator' : 'Administrator',
      issued.hash,
      organizationId === null,
    ],
  )
  if (organizationId) {
    await connection.query('INSERT INTO api_key_grant (api_key_id, organization_id, scopes) VALUES ($1, $2, $3)', [
      issued.id,
      organizationId,
      scopesOfRole.operator,
    ])
  }
  return issued.token
}

async function issueEnrollmentKey(connection: Connection, organizationId: string): Promise<string> {
  await connection.query("DELETE FROM enrollment_key WHERE organization_id = $1 AND created_by = 'system:demo'", [
    organizationId,
  ])
  const issued = issueToken('fle')
  await connection.query(
    `INSERT INTO enrollment_key (id, organization_id, name, token_hash, auto_create, created_by)
     VALUES ($1, $2, 'Demo fleet', $3, true, 'system:demo')`,
    [issued.id, organizationId, issued.hash],
  )
  return issued.token
}
