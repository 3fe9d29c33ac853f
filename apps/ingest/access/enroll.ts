import { enrollment, enrollPath } from '#device-edge/contract'
import { enrollDevice, findEnrollingOrganizations, keyRefused } from '#fleet/devices/credentials/enroll'
import type { Plans } from '#fleet/organizations/plans'
import type { BodyBudget, BodyLimits } from '#http/body-budget'
import { coalesce } from '#postgres/coalesce'
import type { FairPool } from '#postgres/fair-pool'
import type { EdgeRoute } from '../http/app.ts'
import { answerJson, readJson } from './admission.ts'
import type { FailedAuthentications } from './failed-authentications.ts'

export type EnrollRouteParts = {
  pools: FairPool
  plans: Plans
  failedAuthentications: FailedAuthentications
  bodies: BodyBudget
}

const mebibyte = 1024 * 1024

/** The enrollment key is in the body, so bodies of unauthenticated callers are read. */
export const unauthenticatedBodies: BodyLimits = {
  bytes: 64 * mebibyte,
  // Behind a proxy that does not forward addresses, all callers share one address.
  bytesPerHolder: 32 * mebibyte,
  bodies: 4_000,
  bodiesPerHolder: 2_000,
}
const deadlineMs = 10_000
const lookedUpTogether = 500

/** Exchanges an enrollment key for a device token. */
export function enrollRoute({ pools, plans, failedAuthentications, bodies }: EnrollRouteParts): EdgeRoute {
  // The transaction of an enrollment waits for others of the organization, so it needs the organization's share.
  const organizationOf = coalesce(async (keys: readonly string[]) => {
    const found = await findEnrollingOrganizations(pools.internal('enrollment-keys'), keys)
    return (key: string) => found.get(key)
  }, lookedUpTogether)
  return {
    method: 'POST',
    path: enrollPath,
    handle: async (request, { requestId, incoming }) => {
      const account = bodies.open(failedAuthentications.addressOf(incoming))
      try {
        const wanted = await readJson(request, enrollment, { account, deadlineMs })
        const organizationId = await organizationOf(wanted.enrollmentKey)
        if (organizationId === undefined) throw keyRefused()
        const pool = pools.of(`org:${organizationId}`)
        return answerJson(await enrollDevice({ pool, plans, requestId }, wanted), 201)
      } catch (error) {
        await failedAuthentications.count(incoming, error)
        throw error
      } finally {
        account.close()
      }
    },
  }
}
