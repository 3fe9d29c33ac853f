import { z } from 'zod'
import { createChatChannel, deleteChatChannel, testChatChannel, updateChatChannel } from '#alerts/chat/change'
import { chatChannelSchema, chatKinds } from '#alerts/chat/channel'
import { getChatChannel, listChatChannels } from '#alerts/chat/read'
import { text, uuid } from '#core/schemas'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Alerts'
const params = z.object({ orgId: uuid(), id: uuid() })
const url = z
  .string()
  .trim()
  .max(2_000)
  .meta({ format: 'uri', description: 'The URL of the incoming webhook: a public https URL. It is not returned.' })
const one = { description: 'The chat channel.', schema: chatChannelSchema }

const channelChange = z
  .strictObject({ name: text().optional(), url: url.optional() })
  .refine((change) => Object.keys(change).length > 0, 'Send at least one field to change.')

/** Routes of the chat channels to which alert rules send messages. */
export const chatChannelRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/chat-channels',
    summary: 'List chat channels',
    tag,
    access: 'alert:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Chat channels, newest first.', schema: pageOf(chatChannelSchema) } },
    handle: (input) =>
      paged(input, (page) => listChatChannels(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/chat-channels',
    summary: 'Create a chat channel',
    description:
      'A chat channel is an incoming webhook of Slack, of a workflow of Microsoft Teams, or of Mattermost. Alert rules name the channels that receive their alerts.',
    tag,
    access: 'webhook:manage',
    params: orgParams,
    body: z.strictObject({ name: text(), kind: z.enum(chatKinds), url }),
    idempotent: 'replay',
    answers: { 201: one, ...writeErrors, ...limitReached('chatChannels') },
    example: {
      body: { name: '#night-shift', kind: 'slack', url: 'https://hooks.slack.com/services/T0000/B0000/XXXX' },
    },
    handle: async ({ ctx, services, params: { orgId }, body }) =>
      created(
        await createChatChannel(ctx, {
          organizationId: orgId,
          pageUrl: services.publicBaseUrl,
          reachable: services.webhookAddresses,
          ...body,
        }),
      ),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/chat-channels/:id',
    summary: 'Get a chat channel',
    tag,
    access: 'alert:read',
    params,
    answers: { 200: one },
    handle: async ({ ctx, params: { orgId, id } }) =>
      ok(await getChatChannel(ctx, { organizationId: orgId, channelId: id })),
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId/chat-channels/:id',
    summary: 'Rename a chat channel or replace its URL',
    tag,
    access: 'webhook:manage',
    params,
    body: channelChange,
    answers: { 200: one, ...writeErrors },
    example: { body: { name: '#day-shift' } },
    handle: async ({ ctx, services, params: { orgId, id }, body }) =>
      ok(
        await updateChatChannel(ctx, {
          organizationId: orgId,
          channelId: id,
          reachable: services.webhookAddresses,
          ...body,
        }),
      ),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/chat-channels/:id',
    summary: 'Delete a chat channel',
    tag,
    access: 'webhook:manage',
    params,
    answers: {
      204: { description: 'The chat channel was deleted.' },
      ...writeErrors,
      409: { description: 'An alert rule names the channel (`chat_channel_in_use`).' },
    },
    handle: ({ ctx, params: { orgId, id } }) =>
      noContent(deleteChatChannel(ctx, { organizationId: orgId, channelId: id })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/chat-channels/:id/test',
    summary: 'Send a test message to a chat channel',
    description: 'The worker sends it within seconds, once. `lastTest` of the channel then has the result.',
    tag,
    access: 'webhook:manage',
    params,
    idempotent: 'replay',
    answers: {
      202: one,
      ...writeErrors,
      429: { description: 'A test was sent within the last ten seconds (`test_too_soon`), or too many requests.' },
    },
    handle: async ({ ctx, params: { orgId, id } }) => ({
      status: 202,
      body: await testChatChannel(ctx, { organizationId: orgId, channelId: id }),
    }),
  }),
]
