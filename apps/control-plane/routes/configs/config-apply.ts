import { z } from 'zod'
import { uuid } from '#core/schemas'
import { applyProfile, planApplication } from '#fleet/config-profiles/apply'
import { batchSchema } from '#fleet/jobs/batches/read'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { dryRunQuery } from '../../http/schemas.ts'
import { exampleDevice } from '../devices/device-schemas.ts'
import { selectionFields, selectionOf, withLive } from '../devices/device-selection.ts'
import { accepted, batchOptions, dryRunAnswer, onceUnlessDryRun } from '../jobs/batch-options.ts'

const applyBody = z
  .strictObject({
    ...selectionFields,
    groupId: uuid().optional().describe('A group whose effective members receive the profile. Replaces `deviceIds`.'),
    ...batchOptions,
  })
  .refine(({ deviceIds, filter, groupId }) => [deviceIds, filter, groupId].filter(Boolean).length === 1, {
    message: 'Send either deviceIds, filter or groupId.',
  })
  .transform(({ deviceIds, filter, groupId, ...options }) => ({
    ...options,
    target: groupId === undefined ? selectionOf({ deviceIds, filter }) : { groupId },
  }))

export const configApplyRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/configs/:profileId/apply',
    summary: 'Apply a config profile to devices or to a group',
    description:
      'Creates one `apply_config` job for each device with the current version of the profile. Disabled devices, devices of another model and devices without a value for a variable are listed in `skipped`.',
    tag: 'Config profiles',
    access: 'config:apply',
    params: z.object({ orgId: uuid(), profileId: uuid() }),
    query: dryRunQuery,
    body: applyBody,
    idempotent: onceUnlessDryRun,
    answers: {
      200: dryRunAnswer,
      202: { description: 'The batch and its jobs.', schema: batchSchema, headers: ['Location'] },
      ...writeErrors,
      ...limitReached('openBatches'),
    },
    example: { body: { deviceIds: [exampleDevice.id] } },
    handle: async (input) => {
      const { ctx, params, query, body } = input
      const target = await withLive(input, params.orgId, body.target)
      const application = { organizationId: params.orgId, profileId: params.profileId, ...body, target }
      if (query.dryRun) return ok(await planApplication(ctx, application))
      return accepted(await applyProfile(ctx, application), params.orgId)
    },
  }),
]
