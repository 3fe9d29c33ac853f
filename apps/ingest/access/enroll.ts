import { z } from 'zod'
import { enrollDevice } from '#fleet/devices/enroll'
import type { Plans } from '#fleet/organizations/plans'
import type { BodyBudget, BodyLimits } from '#http/body-budget'
import type { Pool } from '#postgres/pool'
import type { EdgeRoute } from '../app.ts'
import { answerJson, readJson } from './edge-call.ts'
import type { FailedAuthentications } from './failed-authentications.ts'

export type EnrollRouteParts = {
  pool: Pool
  plans: Plans
  failedAuthentications: FailedAuthentications
  bodies: BodyBudget
}

const mebibyte = 1024 * 1024

/** Enrollment keys are in the body, so that bodies are read from callers nobody knows yet. */
export const unauthenticatedBodies: BodyLimits = {
  bytes: 64 * mebibyte,
  // Behind a proxy that does not tell addresses, everybody has the same one.
  bytesPerHolder: 32 * mebibyte,
  bodies: 4_000,
  bodiesPerHolder: 2_000,
}
const deadlineMs = 10_000

const text = (maxLength: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxLength)
    .regex(/^\P{Cc}*$/u, 'Control characters are not allowed.')
    .refine((value) => value.isWellFormed(), 'Half of a surrogate pair is not text.')

const enrollment = z.strictObject({
  enrollmentKey: z.string().min(1).max(200),
  serial: text(64),
  model: text(200),
  name: text(200).optional(),
})

/** How a router that has only an enrollment key gets a token of its own. */
export const enrollRoute = ({ pool, plans, failedAuthentications, bodies }: EnrollRouteParts): EdgeRoute => ({
  method: 'POST',
  path: '/device/enroll',
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
