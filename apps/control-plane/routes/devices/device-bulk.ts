import { z } from 'zod'
import { countDevices, deviceCountsSchema } from '#fleet/devices/counts'
import { changeTags } from '#fleet/devices/retag'
import { writeErrors } from '../../http/openapi-errors.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { dryRunQuery, orgParams, soughtTags, tags } from '../../http/schemas.ts'
import { deviceFilter } from './device-schemas.ts'
import { isOneSelection, oneSelection, selectionFields, selectionOf, withLive } from './device-selection.ts'

const { orgId: _orgId, deviceId: _deviceId, ...filterOfOne } = deviceFilter

const tagChange = z
  .strictObject({ ...selectionFields, add: tags().default([]), remove: soughtTags().default([]) })
  .refine(isOneSelection, oneSelection)
  .refine(({ add, remove }) => add.length + remove.length > 0, 'Send at least one tag in `add` or `remove`.')
  .refine(({ add, remove }) => !add.some((tag) => remove.includes(tag)), 'A tag cannot be added and removed.')

/** Routes on all devices that match a filter, or on many chosen ones. */
export const deviceBulkRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/device-counts',
    summary: 'Count devices',
    description: 'Counts the devices that match the filters, in total and by status, model, firmware and tag.',
    tag: 'Devices',
    access: 'device:read',
    params: orgParams,
    query: z.strictObject(filterOfOne),
    answers: { 200: { description: 'The numbers of devices.', schema: deviceCountsSchema } },
    handle: async (input) => {
      const { ctx, params, query } = input
      const found = await withLive(input, params.orgId, { filter: query })
      return ok(await countDevices(ctx, { organizationId: params.orgId, ...found }))
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/device-tags',
    operationId: 'updateDeviceTags',
    summary: 'Add and remove tags of many devices',
    description:
      'Changes the devices in `deviceIds` (at most 10,000) or all that match `filter`. Devices that would have more than 50 tags are not changed and are counted in `refused`. You can repeat the request.',
    tag: 'Devices',
    access: 'device:update',
    params: orgParams,
    query: dryRunQuery,
    body: tagChange,
    answers: {
      200: {
        description: 'The numbers of devices that were selected, changed and refused.',
        schema: z.object({ matched: z.int(), changed: z.int(), refused: z.int() }).meta({ id: 'ChangedTags' }),
      },
      ...writeErrors,
    },
    example: {
      body: { filter: { tag: ['bus'] }, add: ['night'], remove: [] },
      answer: { matched: 120, changed: 118, refused: 0 },
    },
    handle: async (input) => {
      const { ctx, params, query, body } = input
      const { add, remove, ...selected } = body
      const devices = await withLive(input, params.orgId, selectionOf(selected))
      return ok(await changeTags(ctx, { organizationId: params.orgId, devices, add, remove, dryRun: query.dryRun }))
    },
  }),
]
