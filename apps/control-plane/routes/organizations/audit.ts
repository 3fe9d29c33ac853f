import { z } from 'zod'
import { instantOut, text, uuid } from '#core/schemas'
import { listAudit, listPlatformAudit } from '#fleet/audit/list'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { instantIn, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const auditSchema = z
  .object({
    id: uuid(),
    at: instantOut(),
    actor: z
      .string()
      .describe('`key:…`, `user:…`, `device:…`, `email:…` (who answered a message about alerts) or `system`.'),
    action: z.string(),
    subjectType: z.string(),
    subjectId: z.string(),
    detail: z.record(z.string(), z.unknown()),
    requestId: z.string().nullable(),
  })
  .meta({ id: 'AuditRecord' })

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
    answers: { 200: { description: 'Audit records, newest first.', schema: pageOf(auditSchema) } },
    handle: async (input) => {
      const { cursor: _cursor, limit: _limit, ...filter } = input.query
      return pageReply(
        input,
        await listAudit(input.ctx, { organizationId: input.params.orgId, filter, page: pageRequest(input) }),
      )
    },
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
    answers: { 200: { description: 'Audit records, newest first.', schema: pageOf(auditSchema) } },
    handle: async (input) => {
      const { cursor: _cursor, limit: _limit, ...filter } = input.query
      return pageReply(input, await listPlatformAudit(input.ctx, { filter, page: pageRequest(input) }))
    },
  }),
]
