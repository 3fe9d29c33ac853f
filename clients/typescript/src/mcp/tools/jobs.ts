import { z } from 'zod'
import { findDeviceOf } from '../../cli/find-device.ts'
import { table } from '../../cli/table.ts'
import { deviceReference } from '../device-reference.ts'
import { pageInput, pageOutput, pageText } from '../list-page.ts'
import { tool } from '../tool.ts'

const job = z.object({
  id: z.string(),
  batchId: z.string().nullable(),
  deviceId: z.string(),
  kind: z.string(),
  status: z.string(),
  heldBecause: z.string().nullable().describe('Why the job waits for a good moment; null if it does not.'),
  attempt: z.number(),
  error: z.object({ code: z.string(), detail: z.string().nullable() }).nullable(),
  createdAt: z.string(),
  finishedAt: z.string().nullable(),
})

/** `list_jobs`. */
export const listJobsTool = tool({
  name: 'list_jobs',
  title: 'Jobs',
  description: 'Lists jobs of routers, newest first: kind, status, and why a job failed or waits.',
  input: z.strictObject({
    device: deviceReference.optional(),
    batchId: z.uuid().optional().describe('Jobs of this batch.'),
    status: z
      .enum([
        'queued',
        'dispatched',
        'inProgress',
        'succeeded',
        'failed',
        'timedOut',
        'cancelled',
        'expired',
        'rejected',
      ])
      .optional(),
    ...pageInput,
  }),
  output: pageOutput(job),
  about: ({ device, batchId, status }) => [device, batchId, status].filter(Boolean).join(', '),
  async run({ session: { client }, organizationId }, { device, batchId, status, ...page }) {
    const deviceId = device && (await findDeviceOf(client, organizationId, device)).id
    const filter = { ...(deviceId && { deviceId }), ...(batchId && { batchId }), ...(status && { status }) }
    const params = { path: { orgId: organizationId }, query: { ...filter, ...page } }
    const value = await client.get('/orgs/{orgId}/jobs', { params })
    const rows = value.items.map((item) => [
      ...[item.id, item.deviceId, item.kind, item.status, item.heldBecause],
      ...[item.error?.detail ?? item.error?.code, item.createdAt],
    ])
    const header = ['ID', 'DEVICE', 'KIND', 'STATUS', 'HELD', 'ERROR', 'CREATED']
    return { value, text: pageText(value, { header, rows, ifEmpty: 'No jobs.' }) }
  },
})

/** `get_job`. */
export const getJobTool = tool({
  name: 'get_job',
  title: 'A job',
  description: 'Returns one job with its history.',
  input: z.strictObject({ jobId: z.uuid() }),
  output: job.extend({ history: z.array(z.object({ at: z.string(), status: z.string(), by: z.string() })) }),
  about: ({ jobId }) => jobId,
  async run({ session: { client }, organizationId }, { jobId }) {
    const path = { orgId: organizationId, id: jobId }
    const value = await client.get('/orgs/{orgId}/jobs/{id}', { params: { path } })
    const facts = [value.kind, value.status, value.heldBecause && `held (${value.heldBecause})`, value.error?.detail]
    const rows = value.history.map(({ at, status, by }) => [at, status, by])
    return { value, text: `${facts.filter(Boolean).join(', ')}\n${table(['AT', 'STATUS', 'BY'], rows)}` }
  },
})
