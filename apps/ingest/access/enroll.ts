import { enrollment, enrollPath } from '#device-edge/contract'
import { enrollDevice } from '#fleet/devices/enroll'
import type { Plans } from '#fleet/organizations/plans'
import type { BodyBudget, BodyLimits } from '#http/body-budget'
import type { Pool } from '#postgres/pool'
import type { EdgeRoute } from '../app.ts'
import { answerJson, readJson } from './admission.ts'
import type { FailedAuthentications } from './failed-authentications.ts'

export type EnrollRouteParts = {
  pool: Pool
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

/** Exchanges an enrollment key for a device token. */
export const enrollRoute = ({ pool, plans, failedAuthentications, bodies }: EnrollRouteParts): EdgeRoute => ({
  method: 'POST',
  path: enrollPath,
  handle: async (request, { requestId, incoming }) => {
    const account = bodies.open(failedAuthentications.addressOf(incoming))
    try {
      const wanted = await readJson(request, enrollment, { account, deadlineMs })
      return answerJson(await enrollDevice({ pool, plans, requestId }, wanted), 201)
    } catch (error) {
      await failedAuthentications.count(incoming, error)
      throw error
    } finally {
      account.close()
    }
  },
})
