import { createHash } from 'node:crypto'
import { deviceConfigPath, reportedConfig } from '#device-edge/contract'
import { findAppliedProfile, isApplyingProfile } from '#fleet/config-profiles/applied'
import { type PinnedVersion, revealSettings } from '#fleet/config-profiles/delivered'
import { reportConfig } from '#fleet/config-profiles/reported'
import type { Keyring } from '#fleet/crypto/keyring'
import { profileGone } from '#fleet/jobs/pinned-profiles'
import { matchesNone } from '#http/etag'
import type { FairPool } from '#postgres/fair-pool'
import type { Pool } from '#postgres/pool'
import {
  type AdmissionParts,
  admitDevice,
  answerJson,
  readJson,
  refuseDisabled,
  refuseNeedlessGateway,
} from '../access/admission.ts'
import type { DeviceGrant } from '../access/device-grants.ts'
import type { EdgeRoute } from '../http/app.ts'

export type ConfigRouteParts = AdmissionParts & { pools: FairPool; keyring: Keyring }

/** Stores what the device runs. */
export const reportedConfigRoute = (parts: ConfigRouteParts): EdgeRoute => ({
  method: 'PUT',
  path: deviceConfigPath,
  handle: async (request, { incoming }) => {
    const { grant, receivedAtMs } = await admitDevice(parts, incoming)
    const report = await readJson(request, reportedConfig)
    refuseDisabled(grant)
    refuseNeedlessGateway(grant, receivedAtMs)
    const pool = parts.pools.of(`org:${grant.organizationId}`)
    return answerJson(await reportConfig({ ...parts, pool }, grant, report))
  },
})

/** Returns the profile version that was last applied to the device, with its secrets. */
export const configRoute = (parts: ConfigRouteParts): EdgeRoute => ({
  method: 'GET',
  path: deviceConfigPath,
  handle: async (request, { incoming }) => {
    const { grant, receivedAtMs } = await admitDevice(parts, incoming)
    refuseDisabled(grant)
    refuseNeedlessGateway(grant, receivedAtMs)
    const pool = parts.pools.of(`org:${grant.organizationId}`)
    const applied = await findAppliedProfile(pool, grant)
    if (!applied) return new Response(null, { status: 204 })
    const etag = tagOf(applied)
    if (matchesNone(request.headers.get('if-none-match') ?? undefined, etag)) {
      return new Response(null, { status: 304, headers: { ETag: etag } })
    }
    const delivered = await revealSettings({ ...parts, pool }, applied)
    if (!delivered) return answerGone(pool, grant)
    const { profileId, version } = applied
    return answerJson({ profile: { id: profileId, version, ...delivered } }, 200, { ETag: etag })
  },
})

/** A version never changes, so id, version and the values of its variables identify the content. */
function tagOf({ profileId, version, variables }: PinnedVersion): string {
  if (variables === null) return `"${profileId}-${version}"`
  const digest = createHash('sha256').update(JSON.stringify(variables)).digest('base64url').slice(0, 12)
  return `"${profileId}-${version}-${digest}"`
}

async function answerGone(pool: Pool, grant: DeviceGrant): Promise<Response> {
  // Earlier OpenWrt agents check here that they reach the service while they apply a profile. After a 409 they would undo it.
  if (await isApplyingProfile(pool, grant)) return new Response(null, { status: 204 })
  throw profileGone('The profile that was last applied to the device was deleted. Keep the present config.')
}
