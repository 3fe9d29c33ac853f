import { z } from 'zod'
import { text } from '#core/schemas'
import { auditRecordSchema, listAudit, listPlatformAudit } from '#fleet/audit/list'
import { paged } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { instantIn, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const auditQuery = z.strictObject({
  action: text(100).optional(),
  actor: text(300).optional(),
  subjectId: text(100).optional(),
  from: instantIn().optional().describe('Records at this time or later.'),
  to: instantIn().optional().describe('Records before this time.'),
  ...pageQuery,
})

export const auditRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/audit',
    summary: 'List audit records',
    tag: 'Organizations',
    access: 'audit:read',
    params: orgParams,
    query: auditQuery,
    answers: { 200: { description: 'Audit records, newest first.', schema: pageOf(auditRecordSchema) } },
    handle: (input) =>
      paged(input, (page) => listAudit(input.ctx, { organizationId: input.params.orgId, filter: input.query, page })),
  }),
  route({
    method: 'get',
    path: '/audit',
    summary: 'List audit records of the platform',
    description:
      'Records that belong to no organization: sign-ins of platform administrators, and sessions that the platform ended.',
    tag: 'Organizations',
    access: 'platform',
    query: auditQuery,
    answers: { 200: { description: 'Audit records, newest first.', schema: pageOf(auditRecordSchema) } },
    handle: (input) => paged(input, (page) => listPlatformAudit(input.ctx, { filter: input.query, page })),
  }),
]
