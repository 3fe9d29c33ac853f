import { conflict, notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import { deleteUnpinnedVersions } from '#fleet/config-profiles/kept-versions'
import { dropOldVersions } from '#fleet/config-profiles/pinned-versions'
import { type Profile, type ProfileReference, readProfile } from '#fleet/config-profiles/read'
import { loadSettings, sealSettings } from '#fleet/config-profiles/secrets'
import { mergeSettings, readSettings } from '#fleet/config-profiles/settings'
import { type Json, type SettingsObject, sameSettings } from '#fleet/config-profiles/settings-tree'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection, Queryable } from '#postgres/pool'

/** The fields of a profile that belong to a version. */
export type ProfileContent = {
  name: string
  description: string | null
  model: string | null
  settings: SettingsObject
}

type NewProfile = ProfileChange & { organizationId: string; name: string }

type ProfileChange = {
  name?: string | undefined
  description?: string | null | undefined
  model?: string | null | undefined
  /** Default: empty. */
  settings?: Json | undefined
}

/** `precondition` receives the present profile and may throw 412. */
type ProfileDeletion = ProfileReference & { precondition: (current: Profile) => void }

type ProfileUpdate = ProfileDeletion & { change: ProfileChange }

/** Creates a profile at version 1 (`config:write`). Throws 404, 403, 402, 409 `limit_reached`, and 400 as `readSettings` does. */
export async function createProfile(ctx: FleetContext, { organizationId, ...input }: NewProfile): Promise<Profile> {
  authorize(ctx.principal, organizationId, 'config:write')
  const settings = readSettings(input.settings ?? {}, ctx.clock())
  const id = newId()
  const content = { name: input.name, description: input.description ?? null, model: input.model ?? null, settings }
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    await connection.query(
      `INSERT INTO config_profile (id, organization_id, name, description, model, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, uuid_extract_timestamp($1), uuid_extract_timestamp($1))`,
      [id, organizationId, content.name, content.description, content.model],
    )
    await insertVersion(ctx, connection, { organizationId, profileId: id, version: 1 }, content)
    await auditProfile(ctx, connection, organizationId, id, 'profile.created', { name: content.name })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'profiles' })
    return readProfile(connection, organizationId, id)
  })
}

/**
 * Changes a profile (`config:write`). `settings` is a JSON Merge Patch. A change creates a new version; a patch without
 * effect returns the present one. Throws 404, 402, and 400 as `mergeSettings` does.
 */
export async function updateProfile(
  ctx: FleetContext,
  { organizationId, profileId, change, precondition }: ProfileUpdate,
): Promise<Profile> {
  await authorizeObject(ctx, organizationId, 'config:write', 'profile', profileId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    // Two statements, because a statement that waits for a lock does not see versions committed during the wait.
    await lockProfile(connection, organizationId, profileId)
    const current = await readProfile(connection, organizationId, profileId)
    const place = { organizationId, profileId, version: current.version }
    const before = await loadSettings(connection, ctx.keyring, place)
    if (!before) throw new Error('The present version of the profile is missing.')
    const settings = change.settings === undefined ? before : mergeSettings(before, change.settings, ctx.clock())
    await requireActiveSubscription(ctx, connection, organizationId)
    precondition(current)
    const content = {
      name: change.name ?? current.name,
      description: change.description === undefined ? current.description : change.description,
      model: change.model === undefined ? current.model : change.model,
      settings,
    }
    const changed = changedFields(current, before, content)
    if (changed.length === 0) return current
    const version = await saveNextVersion(ctx, connection, { organizationId, profileId, current }, content)
    await auditProfile(ctx, connection, organizationId, profileId, 'profile.updated', { version, changed })
    return readProfile(connection, organizationId, profileId)
  })
}

/** Stores content as the next version of a locked profile, and deletes its oldest ones beyond the limit. Returns its number. */
export async function saveNextVersion(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, profileId, current }: ProfileReference & { current: Profile },
  content: ProfileContent,
): Promise<number> {
  const version = current.version + 1
  await connection.query(
    `UPDATE config_profile SET name = $3, description = $4, model = $5, version = $6, updated_at = now()
     WHERE organization_id = $1 AND id = $2`,
    [organizationId, profileId, content.name, content.description, content.model, version],
  )
  await insertVersion(ctx, connection, { organizationId, profileId, version }, content)
  await dropOldVersions(ctx, connection, { organizationId, profileId })
  return version
}

const changedFields = (current: Profile, before: SettingsObject, content: ProfileContent): string[] => [
  ...(['name', 'description', 'model'] as const).filter((field) => current[field] !== content[field]),
  ...(sameSettings(before, content.settings) ? [] : ['settings']),
]

/**
 * Deletes a profile with its versions (`config:write`), except those that batches pin: `deleteExpired` deletes them later.
 * Throws 404, 402, and 409 `profile_in_use` while an open job applies it.
 */
export async function deleteProfile(
  ctx: FleetContext,
  { organizationId, profileId, precondition }: ProfileDeletion,
): Promise<void> {
  await authorizeObject(ctx, organizationId, 'config:write', 'profile', profileId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    await lockProfile(connection, organizationId, profileId)
    await requireActiveSubscription(ctx, connection, organizationId)
    const current = await readProfile(connection, organizationId, profileId)
    precondition(current)
    await refuseInUse(connection, organizationId, profileId)
    await connection.query('DELETE FROM config_profile WHERE organization_id = $1 AND id = $2', [
      organizationId,
      profileId,
    ])
    const unpinned = { nowMs: ctx.clock(), profile: { organizationId, profileId } }
    while ((await deleteUnpinnedVersions(connection, unpinned)) > 0);
    await auditProfile(ctx, connection, organizationId, profileId, 'profile.deleted', { name: current.name })
  })
}

async function refuseInUse(db: Queryable, organizationId: string, profileId: string): Promise<void> {
  const { rowCount } = await db.query(
    `SELECT 1 FROM job_batch
     WHERE organization_id = $1 AND profile_id = $2 AND queued + dispatched + in_progress > 0 LIMIT 1`,
    [organizationId, profileId],
  )
  if (rowCount) throw conflict('profile_in_use', 'The profile is in use by open jobs.')
}

/** Locks the profile until the transaction ends. Throws 404. */
export async function lockProfile(db: Queryable, organizationId: string, profileId: string): Promise<void> {
  const { rowCount } = await db.query(
    'SELECT 1 FROM config_profile WHERE organization_id = $1 AND id = $2 FOR UPDATE',
    [organizationId, isUuid(profileId) ? profileId : null],
  )
  if (!rowCount) throw notFound('profile', profileId)
}

async function insertVersion(
  ctx: FleetContext,
  db: Queryable,
  place: ProfileReference & { version: number },
  content: ProfileContent,
): Promise<void> {
  const { settings, secrets } = await sealSettings(db, ctx.keyring, place, content.settings)
  await db.query(
    `INSERT INTO config_profile_version
       (organization_id, profile_id, version, name, description, model, settings, secrets, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      place.organizationId,
      place.profileId,
      place.version,
      content.name,
      content.description,
      content.model,
      JSON.stringify(settings),
      JSON.stringify(secrets),
      ctx.principal.id,
    ],
  )
}

export const auditProfile = (
  ctx: FleetContext,
  db: Queryable,
  organizationId: string,
  profileId: string,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> =>
  auditCaller(ctx, db, { organizationId, action, subjectType: 'profile', subjectId: profileId, detail })
