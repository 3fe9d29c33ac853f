import type { Tracing } from '#core/tracing'
import { jobStatus, jobStatusPath } from '#device-edge/contract'
import { reportJob } from '#fleet/jobs/delivery'
import { readTraceparent } from '#fleet/jobs/traces'
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
import type { EdgeRoute } from '../http/app.ts'

export type JobStatusParts = AdmissionParts & { pools: FairPool; tracing: Tracing | undefined }

/** Reports on jobs. `next-route.ts` delivers jobs. */
export const jobStatusRoute = (parts: JobStatusParts): EdgeRoute => ({
  method: 'POST',
  path: jobStatusPath,
  handle: async (request, { incoming, parameters }) => {
    const { grant, receivedAtMs } = await admitDevice(parts, incoming)
    const report = await readJson(request, jobStatus)
    refuseDisabled(grant)
    refuseNeedlessGateway(grant, receivedAtMs)
    const jobId = parameters.id ?? ''
    const pool = parts.pools.of(`org:${grant.organizationId}`)
    const answered = await reportJob({ ...parts, pool }, { device: grant, jobId, report })
    if (parts.tracing) await traceReport(parts.tracing, pool, { ...grant, jobId, status: report.status })
    return answerJson(answered)
  },
})

/** Records the report in the trace of its job. */
async function traceReport(
  tracing: Tracing,
  pool: Pool,
  { deviceId, jobId, status }: { deviceId: string; jobId: string; status: string },
): Promise<void> {
  const parent = await readTraceparent(pool, deviceId, jobId)
  const attributes = { 'http.route': jobStatusPath, 'device.id': deviceId, 'job.id': jobId, 'job.status': status }
  if (parent) tracing.begin(`POST ${jobStatusPath}`, { kind: 'server', parent, attributes }).end()
}
