import { z } from 'zod'
import { numberIn, uuid } from '#core/schemas'
import { applyProfile, planApplication } from '#fleet/config-profiles/apply'
import { applicationPlanSchema } from '#fleet/config-profiles/planned-changes'
import { batchSchema } from '#fleet/jobs/batches/read'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { nextCursorOf, pageRequest } from '../../http/paging.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { dryRunQuery, pageQuery } from '../../http/schemas.ts'
import { exampleDevice } from '../devices/device-schemas.ts'
import { selectionFields, selectionOf, withLive } from '../devices/device-selection.ts'
import { accepted, batchOptions, onceUnlessDryRun } from '../jobs/batch-options.ts'

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

const maxPlanned = 100
const planQuery = dryRunQuery.extend({
  cursor: pageQuery.cursor.describe('With `dryRun`: the `nextCursor` of the previous page of `devices`.'),
  limit: numberIn(z.number().int().min(1).max(maxPlanned))
    .prefault(maxPlanned)
    .describe('With `dryRun`: the number of `devices` whose changes are returned.'),
})

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
    query: planQuery,
    body: applyBody,
    idempotent: onceUnlessDryRun,
    answers: {
      200: { description: 'With `dryRun=true`: what would be created and changed.', schema: applicationPlanSchema },
      202: { description: 'The batch and its jobs.', schema: batchSchema, headers: ['Location'] },
      ...writeErrors,
      ...limitReached('openBatches'),
    },
    example: { body: { deviceIds: [exampleDevice.id] } },
    handle: async (input) => {
      const { ctx, params, query, body } = input
      const target = await withLive(input, params.orgId, body.target)
      const application = { organizationId: params.orgId, profileId: params.profileId, ...body, target }
      if (query.dryRun) {
        const { nextAfter, ...plan } = await planApplication(ctx, application, pageRequest(input))
        return ok({ ...plan, nextCursor: nextCursorOf(input, nextAfter) })
      }
      return accepted(await applyProfile(ctx, application), params.orgId)
    },
  }),
]
