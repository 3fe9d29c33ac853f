import type { webhooks } from './openapi.ts'

type Body<Name extends keyof webhooks> = webhooks[Name]['post']['requestBody']['content']['application/json']

/** The body of a delivery to a webhook. Its `type` decides what `data` has. */
export type WebhookPayload = { [Name in keyof webhooks]: Body<Name> }[keyof webhooks]
