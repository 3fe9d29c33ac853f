import { z } from 'zod'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import type { Scope } from '#fleet/access/scopes'
import { actorNameSql } from '#fleet/audit/actor-names'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, pageBy, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

export const profileSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    description: z.string().nullable(),
    model: z.string().nullable(),
    settings: z
      .record(z.string(), z.unknown())
      .describe('Secrets are replaced by `{"$secret": {"set": true, "updatedAt": …}}`.'),
    version: z.int(),
    createdAt: instantOut(),
    updatedAt: instantOut(),
  })
  .meta({ id: 'ConfigProfile' })

/** A profile at one version. */
export const profileVersionSchema = profileSchema
  .omit({ id: true, updatedAt: true })
  .extend({
    createdBy: z.string().describe('`key:…`, `person:…` or `user:…`.'),
    createdByName: z.string().nullable().describe('The name of the person, user or API key; null for others.'),
  })
  .meta({ id: 'ConfigProfileVersion' })

export type Profile = z.infer<typeof profileSchema>
type ProfileVersion = z.infer<typeof profileVersionSchema>

export type ProfileReference = { organizationId: string; profileId: string }

export const profileAccess = ({ organizationId, profileId }: ProfileReference, scope: Scope) =>
  ({ scope, noun: 'profile', organizationId, id: profileId }) as const

const selectProfiles = `
  SELECT p.id, p.name, p.description, p.model, v.settings, p.version, p.created_at AS "createdAt",
    p.updated_at AS "updatedAt"
  FROM config_profile p
  JOIN config_profile_version v
    ON v.organization_id = p.organization_id AND v.profile_id = p.id AND v.version = p.version
  WHERE p.organization_id = $organizationId`

/** The organization's profiles, newest first (`config:read`). Throws 404 and 403. */
export const listProfiles = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<Profile>> =>
  inOrganization(ctx, { scope: 'config:read', organizationId }, (connection) =>
    queryPage(
      connection,
      `${selectProfiles} AND ($after::uuid IS NULL OR p.id < $after) ORDER BY p.id DESC LIMIT $limit`,
      { organizationId },
      page,
    ),
  )

/** One profile (`config:read`). Throws 404 and 403. */
export const getProfile = (ctx: FleetContext, reference: ProfileReference): Promise<Profile> =>
  withObject(ctx, profileAccess(reference, 'config:read'), (connection) => readProfile(connection, reference))

/** Reads a profile at its present version, for verbs that have authorized the caller. Throws 404. */
export async function readProfile(db: Queryable, { organizationId, profileId }: ProfileReference): Promise<Profile> {
  const [profile] = await queryEntities<Profile>(db, `${selectProfiles} AND p.id = $profileId`, {
    organizationId,
    profileId: isUuid(profileId) ? profileId : null,
  })
  if (!profile) throw notFound('profile', profileId)
  return profile
}

/** All versions of a profile, newest first (`config:read`). Throws 404 and 403. */
export const listProfileVersions = (
  ctx: FleetContext,
  { page, ...reference }: ProfileReference & { page: PageRequest },
): Promise<Page<ProfileVersion>> =>
  withObject(ctx, profileAccess(reference, 'config:read'), async (connection) => {
    await readProfile(connection, reference)
    const versions = await queryEntities<ProfileVersion>(
      connection,
      `SELECT version, name, description, model, settings, created_by AS "createdBy",
         ${actorNameSql('v.organization_id', 'v.created_by')} AS "createdByName", created_at AS "createdAt"
       FROM config_profile_version v
       WHERE organization_id = $organizationId AND profile_id = $profileId AND ($after::int IS NULL OR version < $after)
       ORDER BY version DESC LIMIT $limit`,
      { ...reference, after: page.after, limit: page.limit + 1 },
    )
    return pageBy(
      versions,
      page.limit,
      (version) => version,
      ({ version }) => String(version),
    )
  })
