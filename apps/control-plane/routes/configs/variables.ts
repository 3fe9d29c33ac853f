import { z } from 'zod'
import { uuid } from '#core/schemas'
import { deviceConfigSchema, getDeviceConfig } from '#fleet/config-profiles/device-config'
import { maxSettingsBytes } from '#fleet/config-profiles/settings'
import {
  getVariables,
  groupVariableSetSchema,
  replaceVariables,
  type VariableOwner,
  type VariableSetRevision,
  variableSetSchema,
} from '#fleet/config-profiles/variables/sets'
import { revisionTag } from '#http/etag'
import { entityReply, expecting, notModified, preconditionFailed } from '../../http/entity-tags.ts'
import { writeErrors } from '../../http/openapi-errors.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { orgParams } from '../../http/schemas.ts'
import { deviceParams } from '../devices/device-schemas.ts'
import { settingsIn } from './configs.ts'

const tag = 'Config profiles'
const tagOf = ({ revision }: VariableSetRevision) => revisionTag(revision)
const replaces =
  'Replaces all variables. Send a redacted secret unchanged to keep its value. Jobs that were created before keep their values.'
const rules =
  'A name has letters, digits, `_`, `-` and `.`, at most 64 characters. A value is any JSON; it is a secret if its name says so or as `{"$secret": value}`. Null: no value.'

const plainBody = z.strictObject({ variables: settingsIn(maxSettingsBytes, 'variables').describe(rules) })
const groupBody = plainBody.extend({ priority: z.int().min(-1_000).max(1_000).optional().describe('0 at first.') })
const example = { body: { variables: { wifi_ssid: 'depot', wifi_password: { $secret: 'correct horse' } } } }

type Part<Params> = {
  path: string
  params: z.ZodType<Params>
  noun: string
  ownerOf: (params: Params) => VariableOwner
}

/** The two routes of the variables of an organization, a group or a device. */
function variableRoutes<Params>({ path, params, noun, ownerOf }: Part<Params>): Route[] {
  const isGroup = noun === 'a group'
  const schema = isGroup ? groupVariableSetSchema : variableSetSchema
  const one = { description: 'The variables, with secrets redacted.', schema, headers: ['ETag'] }
  const shown = ({ set }: VariableSetRevision) => {
    const { priority, ...others } = set
    return isGroup ? set : others
  }
  return [
    route({
      method: 'get',
      path,
      summary: `Get the variables of ${noun}`,
      tag,
      access: 'config:read',
      params,
      answers: { 200: one, ...notModified },
      handle: async ({ ctx, params, http }) => {
        const found = await getVariables(ctx, ownerOf(params))
        return entityReply(http, tagOf(found), shown(found))
      },
    }),
    route({
      method: 'put',
      path,
      summary: `Replace the variables of ${noun}`,
      description: replaces,
      tag,
      access: 'config:write',
      params,
      body: isGroup ? groupBody : plainBody,
      answers: { 200: one, ...writeErrors, ...preconditionFailed },
      example,
      handle: async ({ ctx, params, body, http }) => {
        const owner = ownerOf(params)
        const changed = await replaceVariables(ctx, { owner, ...body, precondition: expecting(http, tagOf) })
        return entityReply(http, tagOf(changed), shown(changed))
      },
    }),
  ]
}

/** Routes of variables, and of the config that they make for a device. */
export const configVariableRoutes: Route[] = [
  ...variableRoutes({
    path: '/orgs/:orgId/variables',
    params: orgParams,
    noun: 'an organization',
    ownerOf: ({ orgId }) => ({ organizationId: orgId }),
  }),
  ...variableRoutes({
    path: '/orgs/:orgId/groups/:groupId/variables',
    params: z.object({ orgId: uuid(), groupId: uuid() }),
    noun: 'a group',
    ownerOf: ({ orgId, groupId }) => ({ organizationId: orgId, groupId }),
  }),
  ...variableRoutes({
    path: '/devices/:id/variables',
    params: deviceParams,
    noun: 'a device',
    ownerOf: ({ id }) => ({ deviceId: id }),
  }),
  route({
    method: 'get',
    path: '/devices/:id/config',
    summary: 'Get the config of a device',
    description:
      'The present version of a profile with the values of its variables for this device, and where each value is from. Without `profileId`, the profile that was last applied.',
    tag,
    access: 'config:read',
    params: deviceParams,
    query: z.strictObject({ profileId: uuid().optional() }),
    answers: { 200: { description: 'The settings, with secrets redacted.', schema: deviceConfigSchema } },
    handle: async ({ ctx, params, query }) => ok(await getDeviceConfig(ctx, { deviceId: params.id, ...query })),
  }),
]
