import { revealSettings } from '#fleet/config-profiles/secrets'
import type { Keyring } from '#fleet/crypto/keyring'
import { matchesNone } from '#http/etag'
import type { Pool, Queryable } from '#postgres/pool'
import type { DeviceGrant } from '../access/device-grants.ts'
import { admitDevice, answerJson, type EdgeCallParts, refuseDisabled } from '../access/edge-call.ts'
import type { EdgeRoute } from '../app.ts'

export type ConfigRouteParts = EdgeCallParts & { pool: Pool; keyring: Keyring }

/** What a router that lost its settings asks for: the profile version last applied to it, with its secrets. */
export const configRoute = (parts: ConfigRouteParts): EdgeRoute => ({
  method: 'GET',
  path: '/device/config',
  handle: async (request, { incoming }) => {
    const grant = await admitDevice(parts, incoming)
    refuseDisabled(grant)
    const profile = await findApplied(parts.pool, grant)
    if (!profile) return new Response(null, { status: 204 })
    // Versions never change, so the pair says everything about the content.
    const etag = `"${profile.id}-${profile.version}"`
    if (matchesNone(request.headers.get('if-none-match') ?? undefined, etag)) {
      return new Response(null, { status: 304, headers: { ETag: etag } })
    }
    const { organizationId } = grant
    const settings = await revealSettings(parts, { organizationId, profileId: profile.id, version: profile.version })
    if (!settings) return new Response(null, { status: 204 })
    return answerJson({ profile: { ...profile, settings } }, 200, { ETag: etag })
  },
})

async function findApplied(
  db: Queryable,
  { organizationId, deviceId }: DeviceGrant,
): Promise<{ id: string; version: number } | undefined> {
  const { rows } = await db.query<{ id: string; version: number }>(
    `SELECT config_profile_id AS id, config_profile_version AS version FROM device
     WHERE organization_id = $1 AND id = $2 AND config_profile_id IS NOT NULL`,
    [organizationId, deviceId],
  )
  return rows[0]
}
