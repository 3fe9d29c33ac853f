import { z } from 'zod'
import { uuid } from '#core/schemas'
import {
  deliverySchema,
  listDeliveries,
  redeliver,
  sendTestEvent,
  type WebhookDelivery,
} from '#fleet/webhooks/deliveries'
import { webhookBodies } from '../../http/openapi-webhooks.ts'
import { paged } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Webhooks'

const webhookParams = z.object({ orgId: uuid(), id: uuid() })
const sentDelivery = deliverySchema
  .extend({ event: z.union(webhookBodies.map(({ body }) => body)).describe('The body, as it is sent.') })
  .meta({ id: 'WebhookDelivery' })

const withEvent = (organizationId: string, delivery: WebhookDelivery) => {
  const { type, createdAt: timestamp, data } = delivery
  return { ...delivery, event: { type, timestamp, organizationId, data } }
}

const queued = { 202: { description: 'The delivery, which is sent within seconds.', schema: sentDelivery } }
const disabled = {
  409: {
    description:
      'The webhook is disabled (`webhook_disabled`), or a request with the same Idempotency-Key is in progress.',
  },
}

export const webhookDeliveryRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/webhooks/:id/deliveries',
    summary: 'List deliveries of a webhook',
    description:
      'Deliveries are listed for seven days. When the service disables a webhook, its pending deliveries become `failed` and can be sent again. When a person disables it, they are deleted.',
    tag,
    access: 'webhook:manage',
    params: webhookParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Deliveries, newest first.', schema: pageOf(sentDelivery) } },
    handle: (input) =>
      paged(input, async (page) => {
        const { orgId: organizationId, id: webhookId } = input.params
        const { items, nextAfter } = await listDeliveries(input.ctx, { organizationId, webhookId, page })
        return { items: items.map((delivery) => withEvent(organizationId, delivery)), nextAfter }
      }),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/webhooks/:id/test',
    summary: 'Send a test event to a webhook',
    description: 'Sends an event of the type `webhook.test`, to which webhooks need no subscription.',
    tag,
    access: 'webhook:manage',
    params: webhookParams,
    idempotent: 'replay',
    answers: { ...queued, ...disabled },
    handle: async ({ ctx, params }) => ({
      status: 202,
      body: withEvent(params.orgId, await sendTestEvent(ctx, { organizationId: params.orgId, webhookId: params.id })),
    }),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/webhooks/:id/deliveries/:deliveryId/redeliver',
    summary: 'Send a delivery again',
    description: 'The event has the same `webhook-id` as before, so that a receiver can ignore a duplicate.',
    tag,
    access: 'webhook:manage',
    params: webhookParams.extend({ deliveryId: uuid() }),
    idempotent: 'replay',
    answers: { ...queued, ...disabled },
    handle: async ({ ctx, params }) => ({
      status: 202,
      body: withEvent(
        params.orgId,
        await redeliver(ctx, { organizationId: params.orgId, webhookId: params.id, deliveryId: params.deliveryId }),
      ),
    }),
  }),
]
