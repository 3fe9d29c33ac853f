import { z } from 'zod'
import { uuid } from '#core/schemas'
import { createBatch, planBatch } from '#fleet/jobs/batches/create'
import { batchSchema } from '#fleet/jobs/batches/read'
import { createDeviceJob, listDeviceJobs } from '#fleet/jobs/device-job'
import { jobRequest } from '#fleet/jobs/model/kinds'
import { jobSchema } from '#fleet/jobs/read'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { dryRunQuery, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'
import { selectionFields, selectionOf, withLive } from '../devices/device-selection.ts'
import { accepted, batchOptions, dryRunAnswer, onceUnlessDryRun } from './batch-options.ts'

import { statusAndKind } from './jobs.ts'

const tag = 'Jobs'
const { expiresInSeconds, delivery } = batchOptions

const newBatch = jobRequest({
  ...selectionFields,
  groupId: uuid().optional().describe('A group whose effective members receive the job. Replaces `deviceIds`.'),
  ...batchOptions,
})
  .refine((body) => [body.deviceIds, body.groupId, body.filter].filter((target) => target !== undefined).length === 1, {
    message: 'Send one of deviceIds, groupId and filter.',
  })
  .transform(({ deviceIds, groupId, filter, ...job }) => ({
    ...job,
    target: groupId === undefined ? selectionOf({ deviceIds, filter }) : { groupId },
  }))

/** Asking for jobs: of devices, of every member of a group, or of one device. */
export const jobRequestRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/job-batches',
    summary: 'Create a job for each of many devices',
    description:
      'Creates one job for each device in `deviceIds` (at most 10,000), for each effective member of a group, or for all devices that match `filter` now. Disabled devices, and devices of models that a firmware image does not support, are listed in `skipped`.',
    tag,
    access: 'job:create',
    params: orgParams,
    query: dryRunQuery,
    body: newBatch,
    idempotent: onceUnlessDryRun,
    answers: {
      200: dryRunAnswer,
      202: { description: 'The batch and its jobs.', schema: batchSchema, headers: ['Location'] },
      ...writeErrors,
      ...limitReached('openBatches'),
    },
    example: {
      body: {
        kind: 'firmware_update',
        firmwareImageId: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
        groupId: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
        rollout: { canary: 5, stages: [{ percent: 25 }], stageWaitMinutes: 60, pauseWhenFailedPct: 10 },
      },
    },
    handle: async (request) => {
      const { ctx, params, query, body } = request
      const target = await withLive(request, params.orgId, body.target)
      const input = { ...body, target, organizationId: params.orgId }
      return query.dryRun ? ok(await planBatch(ctx, input)) : accepted(await createBatch(ctx, input), params.orgId)
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/groups/:id/jobs',
    operationId: 'createGroupJobs',
    summary: 'Create a job for each device in a group',
    description:
      'Creates one job for each effective member. Disabled devices are listed in `skipped`. An offline router receives its job when it reconnects, unless the job expires first.',
    tag,
    access: 'job:create',
    params: z.object({ orgId: uuid(), id: uuid() }),
    query: dryRunQuery,
    body: jobRequest(batchOptions),
    idempotent: onceUnlessDryRun,
    answers: {
      200: dryRunAnswer,
      202: { description: 'The batch and its jobs.', schema: batchSchema, headers: ['Location'] },
      ...writeErrors,
      ...limitReached('openBatches'),
    },
    example: { body: { kind: 'reboot', rollout: { canary: 5, maxPerMinute: 100 } } },
    handle: async ({ ctx, params, query, body }) => {
      const input = { ...body, organizationId: params.orgId, target: { groupId: params.id } }
      return query.dryRun ? ok(await planBatch(ctx, input)) : accepted(await createBatch(ctx, input), params.orgId)
    },
  }),
  route({
    method: 'post',
    path: '/devices/:id/jobs',
    summary: 'Create a job for a device',
    tag,
    access: 'job:create',
    params: z.object({ id: uuid() }),
    body: jobRequest({ expiresInSeconds, delivery }),
    idempotent: 'replay',
    answers: {
      202: { description: 'The job.', schema: jobSchema, headers: ['Location'] },
      ...limitReached(
        'openDeviceJobs',
        'The device is disabled (`device_disabled`), the firmware image does not support its model (`model_mismatch`), or a request with the same Idempotency-Key is in progress.',
      ),
      ...writeErrors,
    },
    example: { body: { kind: 'collect_diagnostics' } },
    handle: async ({ ctx, params, body }) => {
      const job = await createDeviceJob(ctx, { deviceId: params.id, ...body })
      return { status: 202, body: job, headers: { Location: `/orgs/${job.organizationId}/jobs/${job.id}` } }
    },
  }),
  route({
    method: 'get',
    path: '/devices/:id/jobs',
    summary: 'List a device’s jobs',
    description: 'Requires `device:read` and `job:read`.',
    tag,
    access: 'job:read',
    params: z.object({ id: uuid() }),
    query: z.strictObject({ ...statusAndKind, ...pageQuery }),
    answers: { 200: { description: 'Jobs, newest first.', schema: pageOf(jobSchema) } },
    handle: (input) =>
      paged(input, (page) => listDeviceJobs(input.ctx, { deviceId: input.params.id, filter: input.query, page })),
  }),
]
