import { z } from 'zod'
import { uuid } from '#core/schemas'
import { cancelJob, retryJob } from '#fleet/jobs/device-job'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { jobStatuses } from '#fleet/jobs/model/states'
import { getJob, jobSchema, jobWithHistorySchema, listJobs } from '#fleet/jobs/read'
import { writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { flag, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Jobs'
const jobParams = z.object({ orgId: uuid(), id: uuid() })

export const statusAndKind = { status: z.enum(jobStatuses).optional(), kind: z.enum(jobKinds).optional() }

const jobQuery = z.strictObject({
  ...statusAndKind,
  deviceId: uuid().optional(),
  groupId: uuid().optional().describe('Returns jobs that were created for this group.'),
  batchId: uuid().optional(),
  inBatch: flag().optional().describe('`false` returns only jobs that were created for a single device.'),
  ...pageQuery,
})

/** Routes of single jobs. */
export const jobRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/jobs',
    summary: 'List jobs',
    tag,
    access: 'job:read',
    params: orgParams,
    query: jobQuery,
    answers: { 200: { description: 'Jobs, newest first.', schema: pageOf(jobSchema) } },
    handle: (input) =>
      paged(input, (page) =>
        listJobs(input.ctx, {
          organizationId: input.params.orgId,
          filter: input.query,
          page,
        }),
      ),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/jobs/:id',
    summary: 'Get a job with its history',
    tag,
    access: 'job:read',
    params: jobParams,
    answers: { 200: { description: 'The job.', schema: jobWithHistorySchema } },
    handle: async ({ ctx, params }) => ok(await getJob(ctx, { organizationId: params.orgId, jobId: params.id })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/jobs/:id/cancel',
    summary: 'Cancel a job',
    description:
      'A job that the device has started is not cancelled immediately. The device receives `cancelRequested` and reports the outcome.',
    tag,
    access: 'job:cancel',
    params: jobParams,
    answers: {
      200: { description: 'The job.', schema: jobSchema },
      409: { description: 'The job has ended (`job_final`).' },
      ...writeErrors,
    },
    handle: async ({ ctx, params }) => ok(await cancelJob(ctx, { organizationId: params.orgId, jobId: params.id })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/jobs/:id/retry',
    summary: 'Retry a job',
    description: 'Starts the next attempt of a job that did not succeed, with a new expiry.',
    tag,
    access: 'job:create',
    params: jobParams,
    idempotent: 'replay',
    answers: {
      202: { description: 'The job.', schema: jobSchema },
      409: {
        description:
          'The job has not ended or has succeeded (`job_not_retryable`), the device has left the organization (`device_gone`) or is disabled (`device_disabled`), or the version of the profile that it applies no longer exists (`profile_gone`).',
      },
      ...writeErrors,
    },
    handle: async ({ ctx, params }) => ({
      status: 202,
      body: await retryJob(ctx, { organizationId: params.orgId, jobId: params.id }),
    }),
  }),
]
