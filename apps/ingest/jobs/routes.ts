import { z } from 'zod'
import { storableJson } from '#core/text'
import { reportJob } from '#fleet/jobs/delivery'
import { reportedStatuses } from '#fleet/jobs/model/states'
import type { Pool } from '#postgres/pool'
import { admitDevice, answerJson, type EdgeCallParts, readJson, refuseDisabled } from '../access/edge-call.ts'
import type { EdgeRoute } from '../app.ts'

export type JobRouteParts = EdgeCallParts & { pool: Pool }

const maxDetailBytes = 32 * 1_024

const statusReport = z.strictObject({
  attempt: z.int().min(1),
  status: z.enum(reportedStatuses),
  progress: z.number().min(0).max(100).transform(Math.round).optional(),
  /** A sentence, or figures: what a speed test measured, where diagnostics lie. */
  detail: z
    .union([z.string().max(2_000), z.record(z.string(), z.json())])
    .refine((detail) => Buffer.byteLength(JSON.stringify(detail)) <= maxDetailBytes, {
      message: `The detail may take ${maxDetailBytes} bytes as JSON.`,
    })
    // A job's end must not be lost for a byte in what a tool printed.
    .transform(storableJson)
    .optional(),
})

/** What a router says of its jobs; how it gets them is `next-route.ts`. */
export const jobRoutes = (parts: JobRouteParts): EdgeRoute[] => [
  {
    method: 'POST',
    path: '/device/jobs/:id/status',
    handle: async (request, { incoming, parameters }) => {
      const grant = await admitDevice(parts, incoming)
      const report = await readJson(request, statusReport)
      refuseDisabled(grant)
      return answerJson(await reportJob(parts, { device: grant, jobId: parameters.id ?? '', report }))
    },
  },
]
