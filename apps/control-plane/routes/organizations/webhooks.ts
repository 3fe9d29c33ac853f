import { z } from 'zod'
import { createWatchedWebhook } from '#alerts/rules/watched-webhook'
import { text, uuid } from '#core/schemas'
import { eventTypes } from '#fleet/events/publish'
import { endOldWebhookSecret, rotateWebhookSecret } from '#fleet/webhooks/secret-rotation'
import { changeWebhook, deleteWebhook, listWebhooks, webhookSchema } from '#fleet/webhooks/webhooks'
import { limitReached } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { distinct, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Webhooks'

const webhookParams = z.object({ orgId: uuid(), id: uuid() })
const newWebhookSchema = webhookSchema
  .extend({ secret: z.string().describe('`whsec_…`; returned only once.') })
  .meta({ id: 'NewWebhook' })

const maxGraceMinutes = 7 * 24 * 60

export const webhookRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/webhooks',
    summary: 'Create a webhook',
    description:
      'Sends events to a URL. Deliveries are signed according to Standard Webhooks with the `secret`, which is returned only once. Each event is delivered at least once. Failed deliveries are retried for three days; then the webhook is disabled. With its first webhook, an organization gets an alert rule that tells when this happens.',
    tag,
    access: 'webhook:manage',
    params: orgParams,
    body: z.strictObject({
      url: z.string().trim().max(2_000).meta({ format: 'uri', description: 'A public https URL.' }),
      events: distinct(z.enum(eventTypes), eventTypes.length * 2, 1),
      description: text().nullable().optional(),
    }),
    idempotent: 'secret',
    answers: {
      201: {
        description: 'The webhook with its signing secret.',
        schema: newWebhookSchema,
      },
      ...limitReached('webhooks'),
    },
    example: { body: { url: 'https://hooks.example.com/routers', events: ['device.status_changed'] } },
    handle: async ({ ctx, services, params, body }) =>
      created(
        await createWatchedWebhook(ctx, {
          organizationId: params.orgId,
          reachable: services.webhookAddresses,
          ...body,
        }),
      ),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/webhooks',
    summary: 'List webhooks',
    tag,
    access: 'webhook:manage',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Webhooks without their secrets, newest first.', schema: pageOf(webhookSchema) } },
    handle: (input) => paged(input, (page) => listWebhooks(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId/webhooks/:id',
    summary: 'Change a webhook',
    description: 'With `enabled: true`, a disabled webhook receives new events again. `enabled: false` disables it.',
    tag,
    access: 'webhook:manage',
    params: webhookParams,
    body: z.strictObject({
      events: distinct(z.enum(eventTypes), eventTypes.length * 2, 1).optional(),
      description: text().nullable().optional(),
      enabled: z.boolean().optional(),
    }),
    answers: { 200: { description: 'The webhook.', schema: webhookSchema } },
    example: { body: { events: ['device.status_changed', 'job.finished'] } },
    handle: async ({ ctx, params, body }) =>
      ok(await changeWebhook(ctx, { organizationId: params.orgId, webhookId: params.id, ...body })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/webhooks/:id/rotate-secret',
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the signing secret of a webhook',
    description:
      'Creates a new secret. Until the old one expires, `webhook-signature` has a signature with each, the new one first, so that your receiver can change over without losing a delivery.',
    tag,
    access: 'webhook:manage',
    params: webhookParams,
    body: z.strictObject({
      oldSecretExpiresInMinutes: z
        .int()
        .min(0)
        .max(maxGraceMinutes)
        .default(24 * 60)
        .describe('How long the old secret also signs deliveries. 0 ends it at once.'),
    }),
    idempotent: 'secret',
    answers: { 201: { description: 'The webhook with its new signing secret.', schema: newWebhookSchema } },
    example: { body: { oldSecretExpiresInMinutes: 1_440 } },
    handle: async ({ ctx, params, body }) =>
      created(await rotateWebhookSecret(ctx, { organizationId: params.orgId, webhookId: params.id, ...body })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/webhooks/:id/old-secret',
    operationId: 'deleteWebhookOldSecret',
    summary: 'End the old signing secret of a webhook',
    description: 'From now on, deliveries have only the signature with the new secret.',
    tag,
    access: 'webhook:manage',
    params: webhookParams,
    answers: { 204: { description: 'The webhook has no old secret.' } },
    handle: ({ ctx, params }) =>
      noContent(endOldWebhookSecret(ctx, { organizationId: params.orgId, webhookId: params.id })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/webhooks/:id',
    summary: 'Delete a webhook',
    tag,
    access: 'webhook:manage',
    params: webhookParams,
    answers: { 204: { description: 'The webhook was deleted.' } },
    handle: ({ ctx, params }) => noContent(deleteWebhook(ctx, { organizationId: params.orgId, webhookId: params.id })),
  }),
]
