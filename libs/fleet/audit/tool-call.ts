import { notFound } from '#core/errors'
import { sees } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { tenantTransaction } from '#fleet/tenant'

/** What a caller can do with a tool that changes something: request the plan, or confirm it. */
export const toolSteps = ['plan', 'confirm'] as const

type ToolCall = {
  organizationId: string
  tool: string
  about?: string | undefined
  step?: (typeof toolSteps)[number] | undefined
}

/**
 * Writes the audit row of a tool that the caller runs, such as one of the MCP server. Any scope in the organization is enough,
 * because every reader's tools are recorded. Throws 404.
 */
export async function recordToolCall(
  ctx: FleetContext,
  { organizationId, tool, about, step }: ToolCall,
): Promise<void> {
  if (!sees(ctx.principal, organizationId)) throw notFound('organization', organizationId)
  await requireOrganization(ctx, organizationId)
  const detail = { ...(about && { about }), ...(step && { step }) }
  await tenantTransaction(ctx, [organizationId], (connection) =>
    auditCaller(ctx, connection, { organizationId, action: 'tool.called', subjectId: tool, detail }),
  )
}
