import { z } from 'zod'
import { cancelJob, retryJob } from '#fleet/jobs/device-job'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { jobStatuses } from '#fleet/jobs/model/states'
import { getJob, listJobs } from '#fleet/jobs/read'
import { writeErrors } from '../http/openapi-errors.ts'
import { pageReply, pageRequest } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import { orgParams, pageOf, pageQuery, uuid } from '../http/schemas.ts'
import { jobSchema, jobWithHistorySchema } from './job-schema.ts'

const tag = 'Jobs'
const jobParams = z.object({ orgId: uuid(), id: uuid() })

export const statusAndKind = { status: z.enum(jobStatuses).optional(), kind: z.enum(jobKinds).optional() }

const jobQuery = z.strictObject({
  ...statusAndKind,
  deviceId: uuid().optional(),
  groupId: uuid().optional().describe('Jobs that were dispatched to this group.'),
  batchId: uuid().optional(),
  ...pageQuery,
})

/** Following and stopping jobs, one at a time. */
export const jobRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/jobs',
    summary: 'List jobs',
    tag,
    access: 'job:read',
    params: orgParams,
    query: jobQuery,
    answers: { 200: { description: 'Newest first.', schema: pageOf(jobSchema) } },
    handle: async (input) =>
      pageReply(input, await listJobs(input.ctx, input.params.orgId, input.query, pageRequest(input))),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/jobs/:id',
    summary: 'Get a job with its history',
    tag,
    access: 'job:read',
    params: jobParams,
    answers: { 200: { description: 'The job.', schema: jobWithHistorySchema } },
    handle: async ({ ctx, params }) => ({ status: 200, body: await getJob(ctx, params.orgId, params.id) }),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/jobs/:id/cancel',
    summary: 'Cancel a job',
    description:
      'A job the device has taken is only asked to stop: `cancelRequested` is in its next answers, and its report decides.',
    tag,
    access: 'job:cancel',
    params: jobParams,
    answers: {
      200: { description: 'The job.', schema: jobSchema },
      409: { description: 'It has ended (`job_final`).' },
      ...writeErrors,
    },
    handle: async ({ ctx, params }) => ({ status: 200, body: await cancelJob(ctx, params.orgId, params.id) }),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/jobs/:id/retry',
    summary: 'Try a job again that ended without success',
    description: 'The same job with the next attempt and a new expiry.',
    tag,
    access: 'job:create',
    params: jobParams,
    idempotent: 'replay',
    answers: {
      202: { description: 'The job.', schema: jobSchema },
      409: { description: 'It has not ended, or with success (`job_not_retryable`); or its device takes none.' },
      ...writeErrors,
    },
    handle: async ({ ctx, params }) => ({ status: 202, body: await retryJob(ctx, params.orgId, params.id) }),
  }),
]
