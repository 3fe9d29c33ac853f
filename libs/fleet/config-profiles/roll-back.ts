import { notFound } from '#core/errors'
import { auditObject } from '#fleet/audit/record'
import { type ProfileContent, saveNextVersion, withLockedProfile } from '#fleet/config-profiles/change'
import { type Profile, type ProfileReference, readProfile } from '#fleet/config-profiles/read'
import { loadSettings } from '#fleet/config-profiles/secrets'
import type { FleetContext } from '#fleet/context'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { queryEntities } from '#postgres/entities'

/** `precondition` receives the present profile and may throw 412. */
type RollBack = ProfileReference & { version: number; precondition: (current: Profile) => void }

/**
 * Makes an earlier version of a profile the newest one, with its secrets (`config:write`). The content becomes a new
 * version, so that no version changes. The present version returns the profile unchanged. Throws 404 and 402.
 */
export const rollBackProfile = (ctx: FleetContext, { version, precondition, ...profile }: RollBack): Promise<Profile> =>
  withLockedProfile(ctx, profile, async (connection, current, object) => {
    const place = { ...profile, version }
    const settings = await loadSettings(connection, ctx.keyring, place)
    const [fields] = await queryEntities<Omit<ProfileContent, 'settings'>>(
      connection,
      `SELECT name, description, model FROM config_profile_version
       WHERE organization_id = $organizationId AND profile_id = $profileId AND version = $version`,
      place,
    )
    if (!settings || !fields) throw notFound('profile version', String(version))
    await requireActiveSubscription(ctx, connection, profile.organizationId)
    precondition(current)
    if (version === current.version) return current
    const created = await saveNextVersion(ctx, connection, { ...profile, current }, { ...fields, settings })
    await auditObject(ctx, connection, 'profile.rolled_back', object, { version: created, restored: version })
    return readProfile(connection, profile)
  })
