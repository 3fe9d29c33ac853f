import { jobStatus, jobStatusPath } from '#device-edge/contract'
import { reportJob } from '#fleet/jobs/delivery'
import type { Pool } from '#postgres/pool'
import { type AdmissionParts, admitDevice, answerJson, readJson, refuseDisabled } from '../access/admission.ts'
import type { EdgeRoute } from '../app.ts'

export type JobStatusParts = AdmissionParts & { pool: Pool }

/** Reports on jobs. `next-route.ts` delivers jobs. */
export const jobStatusRoute = (parts: JobStatusParts): EdgeRoute => ({
  method: 'POST',
  path: jobStatusPath,
  handle: async (request, { incoming, parameters }) => {
    const { grant } = await admitDevice(parts, incoming)
    const report = await readJson(request, jobStatus)
    refuseDisabled(grant)
    return answerJson(await reportJob(parts, { device: grant, jobId: parameters.id ?? '', report }))
  },
})
