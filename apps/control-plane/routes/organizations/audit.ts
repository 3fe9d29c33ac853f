import { z } from 'zod'
import { text } from '#core/schemas'
import { auditRecordSchema, listAudit, listPlatformAudit } from '#fleet/audit/list'
import { recordToolCall, toolSteps } from '#fleet/audit/tool-call'
import { paged } from '../../http/paging.ts'
import { noContent, type Route, route } from '../../http/route.ts'
import { instantIn, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const auditQuery = z.strictObject({
  action: text(100).optional(),
  actor: text(300).optional(),
  subjectId: text(100).optional(),
  from: instantIn().optional().describe('Records at this time or later.'),
  to: instantIn().optional().describe('Records before this time.'),
  ...pageQuery,
})

const toolCall = z.strictObject({
  tool: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'Expected a name such as `find_devices`.')
    .describe('The name of the tool: lower-case letters, digits and underscores.'),
  about: text(200).optional().describe('What the tool was called for, such as a device. Never a secret.'),
  step: z
    .enum(toolSteps)
    .optional()
    .describe('For a tool that changes something: whether the caller requests its plan or confirms it.'),
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
    operationId: 'listPlatformAuditRecords',
    summary: 'List audit records of the platform',
    description:
      'Records that belong to no organization: sign-ins of platform administrators, and sessions that the platform ended.',
    tag: 'Organizations',
    access: 'platform',
    query: auditQuery,
    answers: { 200: { description: 'Audit records, newest first.', schema: pageOf(auditRecordSchema) } },
    handle: (input) => paged(input, (page) => listPlatformAudit(input.ctx, { filter: input.query, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/tool-calls',
    summary: 'Record the call of a tool',
    description:
      'Writes the audit record `tool.called`. Programs that act for a person, such as the MCP server of the command line, record each tool before they run it. Needs any scope in the organization. It counts towards the rate limit like every request.',
    tag: 'Organizations',
    access: 'principal',
    params: orgParams,
    body: toolCall,
    idempotent: 'replay',
    answers: { 204: { description: 'The call is recorded.' } },
    example: { body: { tool: 'device_signal', about: 'SN-0042' } },
    handle: ({ ctx, params, body }) => noContent(recordToolCall(ctx, { organizationId: params.orgId, ...body })),
  }),
]
