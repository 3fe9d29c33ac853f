import { notFound } from '#core/errors'
import { authorizeObject } from '#fleet/access/authorize-object'
import { auditProfile, lockProfile, saveNextVersion } from '#fleet/config-profiles/change'
import { type Profile, type ProfileReference, readProfile } from '#fleet/config-profiles/read'
import { loadSettings } from '#fleet/config-profiles/secrets'
import type { FleetContext } from '#fleet/context'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'

/** `precondition` receives the present profile and may throw 412. */
type RollBack = ProfileReference & { version: number; precondition: (current: Profile) => void }

/**
 * Makes an earlier version of a profile the newest one, with its secrets (`config:write`). The content becomes a new
 * version, so that no version changes. The present version returns the profile unchanged. Throws 404 and 402.
 */
export async function rollBackProfile(
  ctx: FleetContext,
  { organizationId, profileId, version, precondition }: RollBack,
): Promise<Profile> {
  await authorizeObject(ctx, organizationId, 'config:write', 'profile', profileId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await lockProfile(connection, organizationId, profileId)
    const current = await readProfile(connection, organizationId, profileId)
    const settings = await loadSettings(connection, ctx.keyring, { organizationId, profileId, version })
    const { rows } = await connection.query<{ name: string; description: string | null; model: string | null }>(
      `SELECT name, description, model FROM config_profile_version
       WHERE organization_id = $1 AND profile_id = $2 AND version = $3`,
      [organizationId, profileId, version],
    )
    if (!settings || !rows[0]) throw notFound('profile version', String(version))
    await requireActiveSubscription(ctx, connection, organizationId)
    precondition(current)
    if (version === current.version) return current
    const content = { ...rows[0], settings }
    const created = await saveNextVersion(ctx, connection, { organizationId, profileId, current }, content)
    const detail = { version: created, restored: version }
    await auditProfile(ctx, connection, organizationId, profileId, 'profile.rolled_back', detail)
    return readProfile(connection, organizationId, profileId)
  })
}
