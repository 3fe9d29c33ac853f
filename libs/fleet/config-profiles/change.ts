import { conflict } from '#core/errors'
import { newId } from '#core/ids'
import { lockObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditObject } from '#fleet/audit/record'
import { deleteUnpinnedVersions } from '#fleet/config-profiles/kept-versions'
import { dropOldVersions } from '#fleet/config-profiles/pinned-versions'
import { type Profile, type ProfileReference, profileAccess, readProfile } from '#fleet/config-profiles/read'
import { loadSettings, sealSettings } from '#fleet/config-profiles/secrets'
import { mergeSettings, readSettings } from '#fleet/config-profiles/settings'
import { type Json, type SettingsObject, sameSettings } from '#fleet/config-profiles/settings-tree'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { changeObject, createObject, withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
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
  const access = { scope: 'config:write', organizationId } as const
  authorize(ctx.principal, organizationId, access.scope)
  const settings = readSettings(input.settings ?? {}, ctx.clock())
  const content = { name: input.name, description: input.description ?? null, model: input.model ?? null, settings }
  return createObject(ctx, access, async (connection) => {
    const profile = { organizationId, profileId: newId() }
    const { name, description, model } = content
    await queryEntities(
      connection,
      `INSERT INTO config_profile (id, organization_id, name, description, model, created_at, updated_at)
       VALUES ($profileId, $organizationId, $name, $description, $model, uuid_extract_timestamp($profileId),
         uuid_extract_timestamp($profileId))`,
      { ...profile, name, description, model },
    )
    await insertVersion(ctx, connection, { ...profile, version: 1 }, content)
    await auditObject(ctx, connection, 'profile.created', { organizationId, id: profile.profileId }, { name })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'profiles' })
    return readProfile(connection, profile)
  })
}

/**
 * Changes a profile (`config:write`). `settings` is a JSON Merge Patch. A change creates a new version; a patch without
 * effect returns the present one. Throws 404, 402, and 400 as `mergeSettings` does.
 */
export const updateProfile = (
  ctx: FleetContext,
  { change, precondition, ...profile }: ProfileUpdate,
): Promise<Profile> =>
  withLockedProfile(ctx, profile, async (connection, current, object) => {
    const before = await loadSettings(connection, ctx.keyring, { ...profile, version: current.version })
    if (!before) throw new Error('The present version of the profile is missing.')
    const settings = change.settings === undefined ? before : mergeSettings(before, change.settings, ctx.clock())
    await requireActiveSubscription(ctx, connection, profile.organizationId)
    precondition(current)
    const content = {
      name: change.name ?? current.name,
      description: change.description === undefined ? current.description : change.description,
      model: change.model === undefined ? current.model : change.model,
      settings,
    }
    const changed = changedFields(current, before, content)
    if (changed.length === 0) return current
    const version = await saveNextVersion(ctx, connection, { ...profile, current }, content)
    await auditObject(ctx, connection, 'profile.updated', object, { name: content.name, version, changed })
    return readProfile(connection, profile)
  })

/**
 * Runs `work` with a profile, which it locks (`config:write`). `work` requires the subscription, because an invalid change
 * returns its own error first. Throws 404.
 */
export const withLockedProfile = <Result>(
  ctx: FleetContext,
  profile: ProfileReference,
  work: (connection: Connection, current: Profile, object: { organizationId: string; id: string }) => Promise<Result>,
): Promise<Result> => {
  const object = profileAccess(profile, 'config:write')
  return withObject(ctx, object, async (connection) => {
    // Two statements, because a statement that waits for a lock does not see versions committed during the wait.
    await lockObject(connection, object)
    return work(connection, await readProfile(connection, profile), object)
  })
}

/** Stores content as the next version of a locked profile, and deletes its oldest ones beyond the limit. Returns its number. */
export async function saveNextVersion(
  ctx: FleetContext,
  connection: Connection,
  { current, organizationId, profileId }: ProfileReference & { current: Profile },
  content: ProfileContent,
): Promise<number> {
  const { name, description, model } = content
  const place = { organizationId, profileId, version: current.version + 1 }
  await queryEntities(
    connection,
    `UPDATE config_profile SET name = $name, description = $description, model = $model, version = $version, updated_at = now()
     WHERE organization_id = $organizationId AND id = $profileId`,
    { ...place, name, description, model },
  )
  await insertVersion(ctx, connection, place, content)
  await dropOldVersions(ctx, connection, { organizationId, profileId })
  return place.version
}

const changedFields = (current: Profile, before: SettingsObject, content: ProfileContent): string[] => [
  ...(['name', 'description', 'model'] as const).filter((field) => current[field] !== content[field]),
  ...(sameSettings(before, content.settings) ? [] : ['settings']),
]

/**
 * Deletes a profile with its versions (`config:write`), except those that batches pin: `deleteExpired` deletes them later.
 * Throws 404, 402, and 409 `profile_in_use` while an open job applies it.
 */
export function deleteProfile(ctx: FleetContext, { precondition, ...profile }: ProfileDeletion): Promise<void> {
  const object = profileAccess(profile, 'config:write')
  return changeObject(ctx, object, async (connection) => {
    const key = [profile.organizationId, profile.profileId]
    const current = await readProfile(connection, profile)
    precondition(current)
    const { rowCount: isInUse } = await connection.query(
      `SELECT 1 FROM job_batch
       WHERE organization_id = $1 AND profile_id = $2 AND queued + dispatched + in_progress > 0 LIMIT 1`,
      key,
    )
    if (isInUse) throw conflict('profile_in_use', 'The profile is in use by open jobs.')
    await connection.query('DELETE FROM config_profile WHERE organization_id = $1 AND id = $2', key)
    while ((await deleteUnpinnedVersions(connection, { nowMs: ctx.clock(), profile })) > 0);
    await auditObject(ctx, connection, 'profile.deleted', object, { name: current.name })
  })
}

async function insertVersion(
  ctx: FleetContext,
  db: Queryable,
  place: ProfileReference & { version: number },
  { name, description, model, settings: tree }: ProfileContent,
): Promise<void> {
  const { settings, secrets } = await sealSettings(db, ctx.keyring, place, tree)
  await queryEntities(
    db,
    `INSERT INTO config_profile_version
       (organization_id, profile_id, version, name, description, model, settings, secrets, created_by)
     VALUES ($organizationId, $profileId, $version, $name, $description, $model, $settings, $secrets, $createdBy)`,
    { ...place, name, description, model, settings, secrets, createdBy: ctx.principal.id },
  )
}
