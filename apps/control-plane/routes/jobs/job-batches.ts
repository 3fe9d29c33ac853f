import { z } from 'zod'
import { uuid } from '#core/schemas'
import type { FleetContext } from '#fleet/context'
import { cancelBatch, pauseBatch, resumeBatch, retryBatch } from '#fleet/jobs/batches/control'
import {
  type Batch,
  type BatchReference,
  batchSchema,
  batchSummarySchema,
  getBatch,
  listBatches,
} from '#fleet/jobs/batches/read'
import { writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Jobs'
const batchParams = z.object({ orgId: uuid(), id: uuid() })
const profileGone = 'the version of the profile that its jobs apply no longer exists (`profile_gone`)'
const one = { description: 'The batch.', schema: batchSchema }

type Control = {
  verb: string
  conflicts?: string
  summary: string
  access: 'job:cancel' | 'job:create'
  change: (ctx: FleetContext, input: BatchReference) => Promise<Batch>
}

/** A route that changes the status of a batch. */
const control = ({ verb, conflicts = '', summary, access, change }: Control): Route =>
  route({
    method: 'post',
    path: `/orgs/:orgId/job-batches/:id/${verb}`,
    summary,
    tag,
    access,
    params: batchParams,
    answers: { 200: one, 409: { description: `The batch has ended (\`batch_final\`)${conflicts}.` }, ...writeErrors },
    handle: async ({ ctx, params }) => ok(await change(ctx, { organizationId: params.orgId, batchId: params.id })),
  })

/** Routes of batches. */
export const jobBatchRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/job-batches',
    summary: 'List job batches',
    tag,
    access: 'job:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Batches, newest first.', schema: pageOf(batchSummarySchema) } },
    handle: (input) => paged(input, (page) => listBatches(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/job-batches/:id',
    summary: 'Get a job batch',
    tag,
    access: 'job:read',
    params: batchParams,
    answers: { 200: one },
    handle: async ({ ctx, params }) => ok(await getBatch(ctx, { organizationId: params.orgId, batchId: params.id })),
  }),
  control({
    verb: 'cancel',
    summary: 'Cancel a batch',
    access: 'job:cancel',
    change: cancelBatch,
  }),
  control({ verb: 'pause', summary: 'Pause a batch', access: 'job:cancel', change: pauseBatch }),
  control({
    verb: 'resume',
    conflicts: `, or ${profileGone}`,
    summary: 'Resume a batch',
    access: 'job:create',
    change: resumeBatch,
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/job-batches/:id/retry',
    summary: 'Retry failed jobs in a batch',
    tag,
    access: 'job:create',
    params: batchParams,
    idempotent: 'replay',
    answers: {
      202: one,
      409: { description: `The batch has no failed jobs (\`nothing_to_retry\`), or ${profileGone}.` },
      ...writeErrors,
    },
    handle: async ({ ctx, params }) => ({
      status: 202,
      body: await retryBatch(ctx, { organizationId: params.orgId, batchId: params.id }),
    }),
  }),
]
