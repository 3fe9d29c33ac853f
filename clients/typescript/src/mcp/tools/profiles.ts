import { z } from 'zod'
import { pageInput, pageOutput, pageText } from '../list-page.ts'
import { tool } from '../tool.ts'

const profile = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  model: z.string().nullable().describe('The model of the routers that it is for; null: of all.'),
  version: z.number(),
  updatedAt: z.string(),
})

/** `list_profiles`. */
export const listProfilesTool = tool({
  name: 'list_profiles',
  title: 'Config profiles',
  description: 'Lists the config profiles that can be applied to routers, without their settings.',
  input: z.strictObject(pageInput),
  output: pageOutput(profile),
  async run({ session: { client }, organizationId }, page) {
    const params = { path: { orgId: organizationId }, query: page }
    const value = await client.get('/orgs/{orgId}/configs', { params })
    const rows = value.items.map((item) => [item.id, item.name, item.model, item.version, item.updatedAt])
    const header = ['ID', 'NAME', 'MODEL', 'VERSION', 'UPDATED']
    return { value, text: pageText(value, { header, rows, ifEmpty: 'No profiles.' }) }
  },
})
