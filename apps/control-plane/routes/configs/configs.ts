import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import { createProfile, deleteProfile, updateProfile } from '#fleet/config-profiles/change'
import {
  getProfile,
  listProfiles,
  listProfileVersions,
  type Profile,
  profileSchema,
  profileVersionSchema,
} from '#fleet/config-profiles/read'
import { maxPatchBytes, maxSettingsBytes, tooLargeText } from '#fleet/config-profiles/settings'
import { isLargerThan } from '#fleet/config-profiles/settings-size'
import type { Json } from '#fleet/config-profiles/settings-tree'
import { revisionTag } from '#http/etag'
import { entityReply, expecting, notModified, preconditionFailed } from '../../http/entity-tags.ts'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

// The domain parses the settings, because it knows secrets; a schema would copy and change them. The size is checked
// first, because all later steps visit every member.
export const settingsIn = (maxBytes: number, field = 'settings') =>
  z
    .custom<Json>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
      message: 'Expected an object.',
      abort: true,
    })
    .refine((settings) => !isLargerThan(settings, maxBytes), {
      message: tooLargeText(field),
      params: { problemCode: 'settings_too_large' },
    })
    .meta({
      type: 'object',
      additionalProperties: {},
      description:
        'JSON of at most 64 KiB and 16 levels, keys of at most 256 characters. A secret is `{"$secret": "value"}`.',
    })

const fieldsWith = (maxBytes: number) => ({
  name: text(),
  description: text().nullable().optional(),
  model: text().nullable().optional().describe('The router model of the profile; null for any model.'),
  settings: settingsIn(maxBytes).optional(),
})

const profileParams = z.object({ orgId: uuid(), id: uuid() })
const tag = 'Config profiles'
const one = { description: 'The profile, with secrets redacted.', schema: profileSchema, headers: ['ETag'] }
const inUse = { 409: { description: 'Unfinished jobs apply this profile (`profile_in_use`).' } }
export const profileTag = (profile: Profile) => revisionTag(profile.version)

export const configRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/configs',
    summary: 'List config profiles',
    tag,
    access: 'config:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Profiles with secrets redacted, newest first.', schema: pageOf(profileSchema) } },
    handle: (input) => paged(input, (page) => listProfiles(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/configs',
    summary: 'Create a config profile',
    tag,
    access: 'config:write',
    params: orgParams,
    body: z.strictObject(fieldsWith(maxSettingsBytes)),
    idempotent: 'replay',
    answers: { 201: { ...one, headers: ['Location', 'ETag'] }, ...writeErrors, ...limitReached('profiles') },
    example: { body: { name: 'Depot', settings: { wifi: { ssid: 'depot', password: { $secret: 'correct horse' } } } } },
    handle: async ({ ctx, params, body }) => {
      const profile = await createProfile(ctx, { organizationId: params.orgId, ...body })
      const headers = { Location: `/orgs/${params.orgId}/configs/${profile.id}`, ETag: profileTag(profile) }
      return created(profile, headers)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/configs/:id',
    summary: 'Get a config profile',
    tag,
    access: 'config:read',
    params: profileParams,
    answers: { 200: one, ...notModified },
    handle: async ({ ctx, params, http }) => {
      const profile = await getProfile(ctx, { organizationId: params.orgId, profileId: params.id })
      return entityReply(http, profileTag(profile), profile)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId/configs/:id',
    summary: 'Update a config profile',
    description:
      '`settings` is a JSON Merge Patch. Send a redacted secret unchanged to keep its value, null to clear it, or a new value to replace it. Each change creates a new version.',
    tag,
    access: 'config:write',
    params: profileParams,
    body: z
      .strictObject(fieldsWith(maxPatchBytes))
      .partial()
      .refine((change) => Object.keys(change).length > 0, 'Send at least one field to change.'),
    answers: { 200: one, ...writeErrors, ...preconditionFailed },
    example: { body: { settings: { wifi: { ssid: 'depot-2' } } } },
    handle: async ({ ctx, params, body, http }) => {
      const profile = await updateProfile(ctx, {
        organizationId: params.orgId,
        profileId: params.id,
        change: body,
        precondition: expecting(http, profileTag),
      })
      return entityReply(http, profileTag(profile), profile)
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/configs/:id',
    summary: 'Delete a config profile and its versions',
    description:
      'A version stays for the routers of a batch whose jobs can be retried: until 30 days after the end of the batch. Then the service deletes it with its secrets.',
    tag,
    access: 'config:write',
    params: profileParams,
    answers: { 204: { description: 'The profile was deleted.' }, ...writeErrors, ...inUse, ...preconditionFailed },
    handle: ({ ctx, params, http }) =>
      noContent(
        deleteProfile(ctx, {
          organizationId: params.orgId,
          profileId: params.id,
          precondition: expecting(http, profileTag),
        }),
      ),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/configs/:id/versions',
    summary: 'List a profile’s versions',
    tag,
    access: 'config:read',
    params: profileParams,
    query: z.strictObject(pageQuery),
    answers: {
      200: { description: 'Versions with secrets redacted, newest first.', schema: pageOf(profileVersionSchema) },
    },
    handle: (input) =>
      paged(input, (page) =>
        listProfileVersions(input.ctx, {
          organizationId: input.params.orgId,
          profileId: input.params.id,
          page,
        }),
      ),
  }),
]
