import { z } from 'zod'
import { alertEventSchemas } from '#alerts/inbox/event-payloads'
import { instantOut, uuid } from '#core/schemas'
import { fleetEventSchemas } from '#fleet/events/payloads'
import { type EventType, eventTypes } from '#fleet/events/publish'
import { testEventSchema, testEventType } from '#fleet/webhooks/deliveries'
import { exampleOf } from './openapi-examples.ts'
import { pascalCase } from './openapi-names.ts'
import { jsonSchema } from './openapi-schemas.ts'

type Json = Record<string, unknown>

/** The `data` of every event that webhooks deliver, by its type. */
const dataSchemas = { ...fleetEventSchemas, ...alertEventSchemas, [testEventType]: testEventSchema } satisfies Record<
  EventType | typeof testEventType,
  z.ZodType
>

/** The bodies of deliveries, by the type of their event. */
export const webhookBodies = ([...eventTypes, testEventType] as const).map((type) => {
  const data = dataSchemas[type]
  const body = z
    .object({ type: z.literal(type), timestamp: instantOut(), organizationId: uuid(), data })
    .meta({ id: `${pascalCase(type)}Event`, description: data.description })
  return { type, summary: data.description ?? '', body }
})

const headers: [name: string, schema: Json, description: string][] = [
  ['webhook-id', { type: 'string', format: 'uuid' }, 'Identical for every attempt. Use it to discard duplicates.'],
  ['webhook-timestamp', { type: 'integer' }, 'When the attempt was made, in seconds since the epoch.'],
  [
    'webhook-signature',
    { type: 'string' },
    'The signature of Standard Webhooks: `v1,` and base64. Two, separated by a space, while a secret is rotated.',
  ],
]

/** What the service expects of a receiver. */
const responses: Record<string, { description: string }> = {
  '2XX': { description: 'The receiver accepted the event. The body is ignored.' },
  410: { description: 'The service disables the webhook.' },
  429: {
    description: 'The webhook rests for the time in `Retry-After`, of at most 24 h. So it does after 502, 503 and 504.',
  },
  default: { description: 'The service tries again, for 72 h.' },
}

/** The `webhooks` of the OpenAPI document: the requests that the service sends to the URLs of webhooks. */
export const webhooksOf = (components: Json): Record<string, { post: Json }> =>
  Object.fromEntries(
    webhookBodies.map(({ type, summary, body }) => {
      const schema = jsonSchema(body, 'output', components)
      const post = {
        operationId: `on${pascalCase(type)}`,
        summary: summary.replace(/\.$/, ''),
        description: `The event \`${type}\`. The service sends it to the URL of a webhook.`,
        tags: ['Webhooks'],
        security: [],
        parameters: headers.map(([name, schema, description]) => ({
          name,
          in: 'header',
          required: true,
          schema,
          description,
        })),
        requestBody: {
          required: true,
          content: { 'application/json': { schema, example: exampleOf(schema, components) } },
        },
        responses,
      }
      return [type, { post }]
    }),
  )
