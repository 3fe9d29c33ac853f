import { z } from 'zod'
import { enrollDevice } from '#fleet/enrollment'
import type { Plans } from '#fleet/plans'
import type { Pool } from '#postgres/pool'
import type { EdgeRoute } from './app.ts'
import { answerJson, readJson } from './edge-call.ts'
import type { FailedAuthentications } from './failed-authentications.ts'

export type EnrollRouteParts = { pool: Pool; plans: Plans; failedAuthentications: FailedAuthentications }

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
export const enrollRoute = ({ pool, plans, failedAuthentications }: EnrollRouteParts): EdgeRoute => ({
  method: 'POST',
  path: '/device/enroll',
  handle: async (request, { requestId, incoming }) => {
    const wanted = await readJson(request, enrollment)
    try {
      return answerJson(await enrollDevice({ pool, plans, requestId }, wanted), 201)
    } catch (error) {
      await failedAuthentications.count(incoming, error)
      throw error
    }
  },
})
