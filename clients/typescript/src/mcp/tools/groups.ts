import { z } from 'zod'
import { pageInput, pageOutput, pageText } from '../list-page.ts'
import { tool } from '../tool.ts'

const group = z.object({
  id: z.string(),
  name: z.string(),
  smartTags: z.array(z.string()).describe('Devices with any of these tags are members.'),
  effectiveDeviceCount: z.number().describe('The number of members.'),
})

/** `list_groups`. */
export const listGroupsTool = tool({
  name: 'list_groups',
  title: 'Groups',
  description: 'Lists the groups of devices, with the numbers of their members.',
  input: z.strictObject(pageInput),
  output: pageOutput(group),
  async run({ session: { client }, organizationId }, page) {
    const params = { path: { orgId: organizationId }, query: page }
    const value = await client.get('/orgs/{orgId}/groups', { params })
    const rows = value.items.map((item) => [item.id, item.name, item.effectiveDeviceCount, item.smartTags.join(', ')])
    const header = ['ID', 'NAME', 'DEVICES', 'SMART TAGS']
    return { value, text: pageText(value, { header, rows, ifEmpty: 'No groups.' }) }
  },
})
