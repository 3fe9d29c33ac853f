import { z } from 'zod'
import { confirmedTool } from '../confirmed-tool.ts'
import { batchOutput, preparedBatch, targetInput, targetOf, targetText } from '../job-target.ts'

/** `create_jobs`. */
export const createJobsTool = confirmedTool({
  name: 'create_jobs',
  title: 'Create jobs',
  description: 'Reboots routers, collects their diagnostics or tests their speed.',
  input: z.strictObject({ kind: z.enum(['reboot', 'collect_diagnostics', 'speed_test']), ...targetInput }),
  ...batchOutput,
  writes: { destructive: true, idempotent: false },
  about: (input) => `${input.kind}: ${targetText(input)}`,
  async prepare(caller, { kind, ...target }) {
    const { client } = caller.session
    const params = { path: { orgId: caller.organizationId } }
    const body = { kind, ...(await targetOf(caller, target)) }
    const plan = await client.dryRun('/orgs/{orgId}/job-batches', { params, body })
    return preparedBatch(plan, () => client.post('/orgs/{orgId}/job-batches', { params, body }))
  },
})
