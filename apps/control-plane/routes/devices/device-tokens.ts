import { z } from 'zod'
import { instantOut } from '#core/schemas'
import { listDeviceTokens, revokeDeviceToken } from '#fleet/devices/tokens'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery } from '../../http/schemas.ts'
import { deviceParams } from './device-schemas.ts'

const tag = 'Devices'

const tokenSchema = z
  .object({
    id: z.string().describe('The part of the token between `fld_` and the next `_`.'),
    createdAt: instantOut(),
    expiresAt: instantOut().nullable().describe('Null if the token does not expire.'),
  })
  .meta({ id: 'DeviceToken' })

export const deviceTokenRoutes: Route[] = [
  route({
    method: 'get',
    path: '/devices/:id/tokens',
    summary: 'List a device’s valid tokens',
    description: 'Tokens are listed without their secrets, newest first.',
    tag,
    access: 'device:read',
    params: deviceParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'The tokens.', schema: pageOf(tokenSchema) } },
    handle: async (input) =>
      pageReply(input, await listDeviceTokens(input.ctx, { deviceId: input.params.id, page: pageRequest(input) })),
  }),
  route({
    method: 'delete',
    path: '/devices/:id/tokens/:tokenId',
    summary: 'Revoke a device token',
    description: 'The device edge rejects the token at once.',
    tag,
    access: 'device:update',
    params: deviceParams.extend({ tokenId: z.string().max(64) }),
    answers: { 204: { description: 'The token was revoked.' } },
    handle: async ({ ctx, params }) => {
      await revokeDeviceToken(ctx, { deviceId: params.id, tokenId: params.tokenId })
      return { status: 204 }
    },
  }),
]
