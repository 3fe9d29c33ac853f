import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { Json } from '#fleet/config-profiles/settings-tree'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageBy, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

export type ProfileReference = { organizationId: string; profileId: string }

/** A config profile with redacted secrets in `settings`. */
export type Profile = {
  id: string
  name: string
  description: string | null
  model: string | null
  settings: { [key: string]: Json }
  version: number
  createdAt: string
  updatedAt: string
}

/** A profile at one version. */
type ProfileHistoryEntry = Omit<Profile, 'id' | 'updatedAt'> & { createdBy: string }

type ProfileRow = {
  id: string
  name: string
  description: string | null
  model: string | null
  settings: { [key: string]: Json }
  version: number
  created_at: Date
  updated_at: Date
}
type VersionRow = Omit<ProfileRow, 'id' | 'updated_at'> & { created_by: string }

const selectProfiles = `
  SELECT p.id, p.name, p.description, p.model, v.settings, p.version, p.created_at, p.updated_at
  FROM config_profile p
  JOIN config_profile_version v
    ON v.organization_id = p.organization_id AND v.profile_id = p.id AND v.version = p.version
  WHERE p.organization_id = $1`

const toProfile = (row: ProfileRow): Profile => ({
  id: row.id,
  name: row.name,
  description: row.description,
  model: row.model,
  settings: row.settings,
  version: row.version,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

/** The organization's profiles, newest first (`config:read`). Throws 404 and 403. */
export async function listProfiles(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<Profile>> {
  authorize(ctx.principal, organizationId, 'config:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<ProfileRow>(
      `${selectProfiles} AND ($2::uuid IS NULL OR p.id < $2) ORDER BY p.id DESC LIMIT $3`,
      [organizationId, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toProfile)
  })
}

/** One profile (`config:read`). Throws 404 and 403. */
export async function getProfile(ctx: FleetContext, { organizationId, profileId }: ProfileReference): Promise<Profile> {
  await authorizeObject(ctx, organizationId, 'config:read', 'profile', profileId)
  return tenantTransaction(ctx, [organizationId], (connection) => readProfile(connection, organizationId, profileId))
}

/** Reads a profile at its present version, for verbs that have authorized the caller. Throws 404. */
export async function readProfile(db: Queryable, organizationId: string, profileId: string): Promise<Profile> {
  const { rows } = await db.query<ProfileRow>(`${selectProfiles} AND p.id = $2`, [
    organizationId,
    isUuid(profileId) ? profileId : null,
  ])
  if (!rows[0]) throw notFound('profile', profileId)
  return toProfile(rows[0])
}

/** All versions of a profile, newest first (`config:read`). Throws 404 and 403. */
export async function listProfileVersions(
  ctx: FleetContext,
  { organizationId, profileId, page }: ProfileReference & { page: PageRequest },
): Promise<Page<ProfileHistoryEntry>> {
  await authorizeObject(ctx, organizationId, 'config:read', 'profile', profileId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await readProfile(connection, organizationId, profileId)
    const { rows } = await connection.query<VersionRow>(
      `SELECT version, name, description, model, settings, created_by, created_at FROM config_profile_version
       WHERE organization_id = $1 AND profile_id = $2 AND ($3::int IS NULL OR version < $3)
       ORDER BY version DESC LIMIT $4`,
      [organizationId, profileId, page.after ?? null, page.limit + 1],
    )
    return pageBy(rows, page.limit, toHistoryEntry, ({ version }) => String(version))
  })
}

const toHistoryEntry = ({ created_by, created_at, ...entry }: VersionRow): ProfileHistoryEntry => ({
  ...entry,
  createdBy: created_by,
  createdAt: created_at.toISOString(),
})
