import { z } from 'zod'
import { deviceTokenSchema, listDeviceTokens, revokeDeviceToken } from '#fleet/devices/credentials/tokens'
import { paged } from '../../http/paging.ts'
import { noContent, type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery } from '../../http/schemas.ts'
import { deviceParams } from './device-schemas.ts'

const tag = 'Devices'

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
    answers: { 200: { description: 'The tokens.', schema: pageOf(deviceTokenSchema) } },
    handle: (input) => paged(input, (page) => listDeviceTokens(input.ctx, { deviceId: input.params.id, page })),
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
    handle: ({ ctx, params }) => noContent(revokeDeviceToken(ctx, { deviceId: params.id, tokenId: params.tokenId })),
  }),
]
