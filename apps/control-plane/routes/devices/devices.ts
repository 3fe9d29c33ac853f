import { z } from 'zod'
import { instantOut, soughtText, text, uuid } from '#core/schemas'
import { issueDeviceToken } from '#fleet/devices/credentials/tokens'
import { deleteDevice } from '#fleet/devices/delete'
import { deviceSchema } from '#fleet/devices/device'
import { listDevices } from '#fleet/devices/list'
import { createDevice } from '#fleet/devices/register'
import { deviceStatuses } from '#fleet/devices/status'
import { transferDevice } from '#fleet/devices/transfer'
import { getDevice, updateDevice } from '#fleet/devices/update'
import { openListDetails } from '#fleet-map/device-list/list-details'
import { selectLive } from '#fleet-map/device-list/live-selection'
import { entityReply, notModified, preconditionFailed } from '../../http/entity-tags.ts'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { requestReader } from '../../http/request-reader.ts'
import { created, noContent, type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery, soughtTags } from '../../http/schemas.ts'
import { planned } from '../fleet/fleet-answers.ts'
import { deviceParams, exampleDevice, ifUnchanged, newDeviceFields, notes } from './device-schemas.ts'
import { listedDeviceSchema, listQuery } from './list-schemas.ts'

const tag = 'Devices'
const one = { description: 'The device.', schema: deviceSchema, headers: ['ETag'] }
const serialTaken = { 409: { description: 'Another device in the organization has this serial (`serial_taken`).' } }
const quota = {
  403: {
    description:
      'A scope is missing, or the device quota is reached (`device_quota_exceeded`, with `limit` and `used`).',
  },
}

export const deviceRoutes: Route[] = [
  route({
    method: 'get',
    path: '/devices',
    summary: 'List devices',
    tag,
    access: 'device:read',
    query: z.strictObject({ ...listQuery, ...pageQuery }),
    answers: {
      200: { description: 'Devices, newest first or in the requested order.', schema: pageOf(listedDeviceSchema) },
      404: { description: 'The organization, the place or the group does not exist, or you cannot read it.' },
      ...planned,
    },
    example: { answer: { items: [exampleDevice], nextCursor: null } },
    handle: async (input) => {
      const { ctx, services } = input
      const { sort, include, cursor: _cursor, limit: _limit, ...filter } = input.query
      const reader = requestReader(input)
      const live = await selectLive(ctx, services.fleetMaps, reader, { orgId: filter.orgId, filter, sort })
      const withDetails = await openListDetails(ctx, services.fleetMaps, reader, { orgId: filter.orgId, include })
      return paged(input, async (page) => {
        const { items, nextAfter } = await listDevices(ctx, { filter, sort, live, page })
        return { items: await withDetails(items), nextAfter }
      })
    },
  }),
  route({
    method: 'post',
    path: '/devices',
    summary: 'Create a device',
    tag,
    access: 'device:create',
    body: z.strictObject({ organizationId: uuid(), ...newDeviceFields }),
    idempotent: 'replay',
    answers: {
      201: { ...one, headers: ['Location', 'ETag'] },
      404: { description: 'The organization does not exist, or you cannot read it.' },
      ...writeErrors,
      ...quota,
      ...serialTaken,
    },
    example: {
      body: {
        organizationId: exampleDevice.organizationId,
        serial: 'SN-0042',
        name: 'Bus 42',
        model: 'RX-500',
        tags: ['bus'],
        notes: exampleDevice.notes,
      },
      answer: { ...exampleDevice, status: 'provisioning', lastSeenAt: null, firmware: null, location: null },
    },
    handle: async ({ ctx, body }) => {
      const { device, tag: etag } = await createDevice(ctx, body)
      return created(device, { Location: `/devices/${device.id}`, ETag: etag })
    },
  }),
  route({
    method: 'get',
    path: '/devices/:id',
    summary: 'Get a device',
    tag,
    access: 'device:read',
    params: deviceParams,
    answers: { 200: one, ...notModified },
    example: { answer: exampleDevice },
    handle: async ({ ctx, params, http }) => {
      const found = await getDevice(ctx, { deviceId: params.id })
      return entityReply(http, found.tag, found.device)
    },
  }),
  route({
    method: 'patch',
    path: '/devices/:id',
    summary: 'Update a device',
    description:
      'While the status is `disabled`, the service rejects the device’s telemetry and jobs. You can send the current serial; a different serial returns `serial_immutable`.',
    tag,
    access: 'device:update',
    params: deviceParams,
    body: z.strictObject({
      name: text().optional(),
      model: text().optional(),
      tags: soughtTags().optional(),
      notes: notes(),
      status: z.enum(deviceStatuses).optional(),
      serial: soughtText(64).optional(),
    }),
    answers: { 200: one, ...writeErrors, ...preconditionFailed },
    example: { body: { name: 'Bus 42 (depot)', status: 'disabled' } },
    handle: async ({ ctx, params, body, http }) => {
      const updated = await updateDevice(ctx, { deviceId: params.id, change: body, precondition: ifUnchanged(http) })
      return { status: 200, body: updated.device, headers: { ETag: updated.tag } }
    },
  }),
  route({
    method: 'post',
    path: '/devices/:id/transfer',
    summary: 'Transfer a device to another organization',
    description:
      'Requires `device:transfer` in both organizations. The transfer removes the device’s group memberships, profile, tokens, notes and last location and cancels its open jobs. The previous owner keeps the telemetry history.',
    tag,
    access: 'device:transfer',
    params: deviceParams,
    body: z.strictObject({ toOrgId: uuid(), reason: text(500).optional() }),
    idempotent: 'replay',
    answers: {
      200: one,
      ...writeErrors,
      ...quota,
      409: {
        description:
          'The device already belongs to the organization (`same_organization`), or its serial is taken there (`serial_taken`).',
      },
      ...preconditionFailed,
    },
    example: { body: { toOrgId: exampleDevice.organizationId, reason: 'Sold with the bus' } },
    handle: async ({ ctx, params, body, http }) => {
      const moved = await transferDevice(ctx, { deviceId: params.id, ...body, precondition: ifUnchanged(http) })
      return { status: 200, body: moved.device, headers: { ETag: moved.tag } }
    },
  }),
  route({
    method: 'delete',
    path: '/devices/:id',
    summary: 'Delete a device and its telemetry history',
    tag,
    access: 'device:delete',
    params: deviceParams,
    answers: { 204: { description: 'The device was deleted.' }, ...preconditionFailed },
    handle: ({ ctx, params, http }) =>
      noContent(deleteDevice(ctx, { deviceId: params.id, precondition: ifUnchanged(http) })),
  }),
  route({
    method: 'post',
    path: '/devices/:id/token',
    summary: 'Issue a device token',
    description:
      'The token is returned only once. Earlier tokens remain valid for 24 hours. Set `revoke` to invalidate them immediately.',
    tag,
    access: 'device:update',
    params: deviceParams,
    body: z.strictObject({ revoke: z.boolean().default(false) }),
    idempotent: 'secret',
    answers: {
      201: {
        description: 'The token.',
        schema: z
          .object({
            token: z.string(),
            expiresAt: instantOut().nullable().describe('Null if the token does not expire.'),
          })
          .meta({ id: 'NewDeviceToken' }),
      },
      ...writeErrors,
      ...limitReached('deviceTokens'),
    },
    example: { body: { revoke: true } },
    handle: async ({ ctx, params, body }) => created(await issueDeviceToken(ctx, { deviceId: params.id, ...body })),
  }),
]
