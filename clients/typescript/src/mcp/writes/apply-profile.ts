import { z } from 'zod'
import { confirmedTool } from '../confirmed-tool.ts'
import { batchOutput, preparedBatch, targetInput, targetOf, targetText } from '../job-target.ts'

/** `apply_profile`. */
export const applyProfileTool = confirmedTool({
  name: 'apply_profile',
  title: 'Apply a config profile',
  description: 'Applies the current version of a config profile to routers, which changes their settings.',
  input: z.strictObject({ profileId: z.uuid(), ...targetInput }),
  ...batchOutput,
  writes: { destructive: true, idempotent: false },
  about: (input) => `profile ${input.profileId}: ${targetText(input)}`,
  async prepare(caller, { profileId, ...target }) {
    const { client } = caller.session
    const params = { path: { orgId: caller.organizationId, profileId } }
    const body = await targetOf(caller, target)
    const plan = await client.dryRun('/orgs/{orgId}/configs/{profileId}/apply', { params, body })
    return preparedBatch(plan, () => client.post('/orgs/{orgId}/configs/{profileId}/apply', { params, body }))
  },
})
