import { z } from 'zod'
import { alertSubject } from '../../cli/alert-subject.ts'
import { findDeviceOf } from '../../cli/find-device.ts'
import { deviceReference } from '../device-reference.ts'
import { pageInput, pageOutput, pageText } from '../list-page.ts'
import { tool } from '../tool.ts'

const alert = z.object({
  id: z.string(),
  ruleName: z.string(),
  kind: z.string(),
  severity: z.string(),
  state: z.string(),
  deviceId: z.string().nullable(),
  deviceName: z.string().nullable(),
  openedAt: z.string(),
  assignee: z.string().nullable(),
  comment: z.string().nullable(),
})

/** `list_alerts`. */
export const listAlertsTool = tool({
  name: 'list_alerts',
  title: 'Alerts',
  description: 'Lists alerts, newest first; by default those that are open.',
  input: z.strictObject({
    states: z
      .array(z.enum(['open', 'acknowledged', 'closed']))
      .min(1)
      .max(3)
      .default(['open']),
    severity: z.enum(['critical', 'warning', 'info']).optional(),
    device: deviceReference.optional(),
    ...pageInput,
  }),
  output: pageOutput(alert),
  about: ({ device, severity }) => [device, severity].filter(Boolean).join(', '),
  async run({ session: { client }, organizationId }, { states, severity, device, ...page }) {
    const deviceId = device && (await findDeviceOf(client, organizationId, device)).id
    const filter = { state: states, ...(severity && { severity }), ...(deviceId && { deviceId }) }
    const params = { path: { orgId: organizationId }, query: { ...filter, ...page } }
    const value = await client.get('/orgs/{orgId}/alerts', { params })
    const rows = value.items.map((item) => [
      ...[item.id, item.severity, item.state, item.kind],
      ...[alertSubject(item), item.ruleName, item.openedAt],
    ])
    const header = ['ID', 'SEVERITY', 'STATE', 'KIND', 'DEVICE', 'RULE', 'OPENED']
    return { value, text: pageText(value, { header, rows, ifEmpty: 'No alerts.' }) }
  },
})
