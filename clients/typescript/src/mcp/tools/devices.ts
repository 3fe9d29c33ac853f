import { z } from 'zod'
import { pageInput, pageOutput, pageText } from '../list-page.ts'
import { tool } from '../tool.ts'

const device = z.object({
  id: z.string(),
  serial: z.string(),
  name: z.string(),
  model: z.string(),
  status: z.string(),
  tags: z.array(z.string()),
  firmware: z.string().nullable(),
  lastSeenAt: z.string().nullable(),
  location: z.object({ lat: z.number(), lon: z.number(), ts: z.string() }).nullable(),
})

/** `find_devices`. */
export const findDevicesTool = tool({
  name: 'find_devices',
  title: 'Find devices',
  description: 'Lists the routers that match, newest first: status, model, tags, firmware and last position.',
  input: z.strictObject({
    query: z.string().min(2).max(100).optional().describe('Part of the name, the serial or the model.'),
    tags: z.array(z.string().max(64)).max(20).optional().describe('Devices that have all of these tags.'),
    status: z.enum(['provisioning', 'online', 'offline', 'disabled', 'error']).optional(),
    ...pageInput,
  }),
  output: pageOutput(device).extend({ total: z.int().describe('The number of devices that match, on all pages.') }),
  about: ({ query, tags, status }) => [query, ...(tags ?? []), status].filter(Boolean).join(', '),
  async run({ session: { client }, organizationId }, { query: q, tags, status, ...page }) {
    const filter = { ...(q && { q }), ...(tags?.length && { tag: tags }), ...(status && { status }) }
    const found = await client.get('/devices', { params: { query: { orgId: organizationId, ...filter, ...page } } })
    const isWhole = found.nextCursor === null && page.cursor === undefined
    const path = { orgId: organizationId }
    const total = isWhole
      ? found.items.length
      : (await client.get('/orgs/{orgId}/device-counts', { params: { path, query: filter } })).total
    const rows = found.items.map(({ id, serial, name, model, status: is, lastSeenAt }) => [
      ...[id, serial, name, model, is],
      lastSeenAt,
    ])
    const header = ['ID', 'SERIAL', 'NAME', 'MODEL', 'STATUS', 'LAST SEEN']
    return { value: { ...found, total }, text: pageText(found, { header, rows, ifEmpty: 'No devices.', total }) }
  },
})
