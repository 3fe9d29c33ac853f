import { z } from 'zod'
import { normalizeIdentity } from '#device-edge/gateway'
import { deviceIdentifiersSchema, readIdentifiers, replaceIdentifiers } from '#fleet/devices/identifiers'
import { writeErrors } from '../../http/openapi-errors.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { distinct } from '../../http/schemas.ts'
import { deviceParams } from './device-schemas.ts'

const tag = 'Devices'

const imei = z
  .string()
  .refine((text) => normalizeIdentity('imei', text) !== undefined, 'An IMEI has 15 digits.')
  .overwrite((text) => text.trim())

const mac = z
  .string()
  .refine((text) => normalizeIdentity('mac', text) !== undefined, 'A MAC address has 12 hex digits.')
  .overwrite((text) => normalizeIdentity('mac', text)?.value ?? text)

const example = { imei: ['352099001761481'], mac: ['001e42c0ffee'] }

export const deviceIdentifierRoutes: Route[] = [
  route({
    method: 'get',
    path: '/devices/:id/identifiers',
    summary: 'Get the identifiers of a device',
    description: 'A gateway finds a device that cannot send its serial by these identifiers.',
    tag,
    access: 'device:read',
    params: deviceParams,
    answers: { 200: { description: 'The identifiers.', schema: deviceIdentifiersSchema } },
    example: { answer: example },
    handle: async ({ ctx, params }) => ok(await readIdentifiers(ctx, { deviceId: params.id })),
  }),
  route({
    method: 'put',
    path: '/devices/:id/identifiers',
    summary: 'Replace the identifiers of a device',
    description: 'An identifier belongs to one device of the organization. A transfer removes the identifiers.',
    tag,
    access: 'device:update',
    params: deviceParams,
    body: z.strictObject({ imei: distinct(imei, 20).default([]), mac: distinct(mac, 20).default([]) }),
    answers: {
      200: { description: 'The identifiers.', schema: deviceIdentifiersSchema },
      ...writeErrors,
      409: { description: 'Another device of the organization has one of them (`identifier_taken`).' },
    },
    example: { body: { imei: ['352099001761481'], mac: ['00:1E:42:C0:FF:EE'] }, answer: example },
    handle: async ({ ctx, params, body }) =>
      ok(await replaceIdentifiers(ctx, { deviceId: params.id, identifiers: body })),
  }),
]
