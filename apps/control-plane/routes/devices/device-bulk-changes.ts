import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import {
  bulkChangeSchema,
  deleteDevices,
  maxChangedDevices,
  switchDevices,
  transferDevices,
} from '#fleet/devices/bulk-change'
import { writeErrors } from '../../http/openapi-errors.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { dryRunQuery, orgParams } from '../../http/schemas.ts'
import { exampleDevice } from './device-schemas.ts'
import { isOneSelection, oneSelection, selectionFields, selectionOf, withLive } from './device-selection.ts'

const tag = 'Devices'
const limited = `The devices are those in \`deviceIds\` or all that match \`filter\`, at most ${maxChangedDevices}; more return 400 \`too_many_devices\`. Each device changes by itself, and \`skipped\` has those that did not, with the reason.`
const changed = { 200: { description: 'What changed, or would change.', schema: bulkChangeSchema } }
const answers = { ...changed, ...writeErrors }
const named = { deviceId: exampleDevice.id, name: exampleDevice.name }

/** Routes that change each of many devices as a route of one device does. */
export const deviceBulkChangeRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/device-status',
    operationId: 'updateDeviceStatus',
    summary: 'Disable or enable many devices',
    description: `${limited} You can repeat the request.`,
    tag,
    access: 'device:update',
    params: orgParams,
    query: dryRunQuery,
    body: z.strictObject({ ...selectionFields, disabled: z.boolean() }).refine(isOneSelection, oneSelection),
    answers,
    example: {
      body: { filter: { tag: ['bus'], silentForMinutes: 43_200 }, disabled: true },
      answer: { matched: 1, changed: 1, devices: [named], skipped: [] },
    },
    handle: async (input) => {
      const { ctx, params, query, body } = input
      const { disabled, ...selected } = body
      const devices = await withLive(input, params.orgId, selectionOf(selected))
      return ok(await switchDevices(ctx, { organizationId: params.orgId, devices, disabled, ...query }))
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/device-transfers',
    operationId: 'transferDevices',
    summary: 'Transfer many devices to another organization',
    description: `Requires \`device:transfer\` in both organizations. ${limited} \`POST /devices/{id}/transfer\` says what a device loses. After a repetition, the devices of \`deviceIds\` are no longer in the organization (404).`,
    tag,
    access: 'device:transfer',
    params: orgParams,
    query: dryRunQuery,
    body: z
      .strictObject({ ...selectionFields, toOrgId: uuid(), reason: text(500).optional() })
      .refine(isOneSelection, oneSelection),
    answers,
    example: {
      body: { deviceIds: [exampleDevice.id], toOrgId: exampleDevice.organizationId },
      answer: {
        matched: 1,
        changed: 0,
        devices: [],
        skipped: [{ ...named, reason: 'serial_taken', detail: 'Another device in the organization has this serial.' }],
      },
    },
    handle: async (input) => {
      const { ctx, params, query, body } = input
      const { toOrgId, reason, ...selected } = body
      const devices = await withLive(input, params.orgId, selectionOf(selected))
      return ok(await transferDevices(ctx, { organizationId: params.orgId, devices, toOrgId, reason, ...query }))
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/device-deletions',
    operationId: 'deleteDevices',
    summary: 'Delete many devices and their telemetry history',
    description: limited,
    tag,
    access: 'device:delete',
    params: orgParams,
    query: dryRunQuery,
    body: z.strictObject(selectionFields).refine(isOneSelection, oneSelection),
    answers: changed,
    example: {
      body: { deviceIds: [exampleDevice.id] },
      answer: { matched: 1, changed: 1, devices: [named], skipped: [] },
    },
    handle: async (input) => {
      const { ctx, params, query, body } = input
      const devices = await withLive(input, params.orgId, selectionOf(body))
      return ok(await deleteDevices(ctx, { organizationId: params.orgId, devices, ...query }))
    },
  }),
]
