import { z } from 'zod'
import { text } from '#core/schemas'
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  organizationSchema,
  renameOrganization,
} from '#fleet/organizations/organizations'
import { paged } from '../../http/paging.ts'
import { created, ok, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Organizations'
const one = { description: 'The organization.', schema: organizationSchema }

export const organizationRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs',
    summary: 'Create an organization',
    tag,
    access: 'platform',
    body: z.strictObject({ name: text(), plan: text(40).optional().describe('The plan; `free` by default.') }),
    idempotent: 'replay',
    answers: { 201: { ...one, headers: ['Location'] } },
    example: { body: { name: 'Harbour ferries', plan: 'pro' } },
    handle: async ({ ctx, body }) => {
      const organization = await createOrganization(ctx, body)
      return created(organization, { Location: `/orgs/${organization.id}` })
    },
  }),
  route({
    method: 'get',
    path: '/orgs',
    summary: 'List organizations',
    tag,
    access: 'principal',
    query: z.strictObject(pageQuery),
    answers: {
      200: { description: 'The organizations that you can read, newest first.', schema: pageOf(organizationSchema) },
      403: { description: 'A scope is missing.' },
    },
    handle: (input) => paged(input, (page) => listOrganizations(input.ctx, { page })),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId',
    summary: 'Get an organization',
    tag,
    access: 'org:read',
    params: orgParams,
    answers: { 200: one },
    handle: async ({ ctx, params }) => ok(await getOrganization(ctx, { organizationId: params.orgId })),
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId',
    summary: 'Rename an organization',
    tag,
    access: 'org:write',
    params: orgParams,
    body: z.strictObject({ name: text() }),
    answers: { 200: one },
    example: { body: { name: 'Harbour ferries north' } },
    handle: async ({ ctx, params, body }) =>
      ok(await renameOrganization(ctx, { organizationId: params.orgId, name: body.name })),
  }),
]
