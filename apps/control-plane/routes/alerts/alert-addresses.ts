import { z } from 'zod'
import { addressSchema } from '#alerts/addresses/address'
import { answerAddressLink, linkedAddressSchema } from '#alerts/addresses/links'
import { listAddresses } from '#alerts/addresses/read'
import { requestConfirmation } from '#alerts/addresses/request'
import { testAddress } from '#alerts/addresses/test'
import { writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'
import { countSignIn } from '../access/sign-in.ts'

const tag = 'Alerts'

/** Routes of the addresses to which alert rules send e-mail. */
export const alertAddressRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/alert-addresses',
    summary: 'List addresses for alerts',
    description:
      'The e-mail addresses that alert rules name, and whether their owner has confirmed them. Addresses of people who signed in count as confirmed.',
    tag,
    access: 'alert:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Addresses in alphabetical order.', schema: pageOf(addressSchema) } },
    handle: (input) => paged(input, (page) => listAddresses(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/alert-address-confirmations',
    operationId: 'sendAlertAddressConfirmation',
    summary: 'Send the confirmation of an address again',
    description:
      'The service sends the first one when a rule names an address. It can be sent again after an hour, at most five times in a week.',
    tag,
    access: 'alert:write',
    params: orgParams,
    body: z.strictObject({ email: z.email().max(254) }),
    idempotent: 'replay',
    answers: {
      202: { description: 'The address. The message follows within seconds.', schema: addressSchema },
      ...writeErrors,
      409: {
        description:
          'The address is confirmed (`address_confirmed`), or its owner refused messages of the organization (`address_refused`).',
      },
      429: {
        description:
          'A message was requested a short time ago (`confirmation_too_soon`), or too many requests. Wait for the time in `Retry-After`.',
      },
    },
    example: { body: { email: 'fleet@example.com' } },
    handle: async ({ ctx, services, params: { orgId }, body }) => ({
      status: 202,
      body: await requestConfirmation(ctx, {
        organizationId: orgId,
        email: body.email,
        pageUrl: services.publicBaseUrl,
      }),
    }),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/alert-address-tests',
    operationId: 'testAlertAddress',
    summary: 'Send a test message to an address',
    description: 'The worker sends it within seconds, once. `lastTest` of the address then has the result.',
    tag,
    access: 'alert:write',
    params: orgParams,
    body: z.strictObject({ email: z.email().max(254) }),
    idempotent: 'replay',
    answers: {
      202: { description: 'The address.', schema: addressSchema },
      ...writeErrors,
      409: {
        description:
          'The address is not confirmed (`address_not_confirmed`), or no worker has a mail server (`mail_server_missing`).',
      },
      429: { description: 'A test was sent within the last minute (`test_too_soon`), or too many requests.' },
    },
    example: { body: { email: 'fleet@example.com' } },
    handle: async ({ ctx, params: { orgId }, body: { email } }) => ({
      status: 202,
      body: await testAddress(ctx, { organizationId: orgId, email }),
    }),
  }),
  route({
    method: 'post',
    path: '/alert-address-links',
    operationId: 'answerAlertAddressLink',
    summary: 'Confirm or refuse alerts by e-mail',
    description:
      'For the web page, which the links in messages open. Without `answer`, only returns what the link is about. A link can do nothing else, and needs no other credentials.',
    tag,
    access: 'public',
    body: z.strictObject({
      link: z.string().max(200).describe('The token of the link.'),
      answer: z
        .enum(['confirm', 'refuse'])
        .optional()
        .describe('After `refuse`, the organization cannot write to the address until the link confirms it.'),
    }),
    bodyLimitBytes: 4 * 1024,
    answers: {
      200: { description: 'The address, and its state after the answer.', schema: linkedAddressSchema },
      404: { description: '`link_invalid`: the link is unknown or has expired.' },
      429: { description: 'Too many requests of this address. Wait for the time in `Retry-After`.' },
    },
    example: {
      body: { link: 'fla_4f1c0de27a11c3e9_…', answer: 'confirm' },
      answer: { email: 'fleet@example.com', organizationName: 'Harbour ferries', state: 'confirmed' },
    },
    handle: async ({ ctx, services, body, http }) => {
      await countSignIn(services, http)
      return ok(await answerAddressLink(ctx, { token: body.link, answer: body.answer }))
    },
  }),
]
