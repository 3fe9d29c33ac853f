import { z } from 'zod'
import { alertSubject } from '../../cli/alert-subject.ts'
import { table } from '../../cli/table.ts'
import { confirmedTool } from '../confirmed-tool.ts'

const alert = z.object({
  id: z.string(),
  severity: z.string(),
  state: z.string(),
  device: z.string(),
  ruleName: z.string(),
})

const header = ['ID', 'SEVERITY', 'STATE', 'DEVICE', 'RULE']

/** `acknowledge_alerts`. */
export const acknowledgeAlertsTool = confirmedTool({
  name: 'acknowledge_alerts',
  title: 'Acknowledge alerts',
  description: 'Records that somebody takes care of open alerts.',
  input: z.strictObject({
    alertIds: z.array(z.uuid()).min(1).max(20),
    assignee: z.string().min(1).max(200).optional().describe('Who takes care of them.'),
    comment: z.string().min(1).max(1_000).optional(),
  }),
  plan: z.object({ open: z.int().describe('The number of alerts that would change.'), alerts: z.array(alert) }),
  result: z.object({
    changed: z.int(),
    results: z.array(z.object({ alertId: z.string(), outcome: z.string() })),
  }),
  writes: { destructive: false, idempotent: true },
  about: ({ alertIds }) => alertIds.join(', '),
  async prepare({ session: { client }, organizationId }, { alertIds, assignee, comment }) {
    const path = { orgId: organizationId }
    const read = alertIds.map((id) => client.get('/orgs/{orgId}/alerts/{id}', { params: { path: { ...path, id } } }))
    const alerts = (await Promise.all(read)).map((alert) => {
      const { id, severity, state, ruleName } = alert
      return { id, severity, state, device: alertSubject(alert), ruleName }
    })
    const open = alerts.filter(({ state }) => state === 'open').length
    const rows = alerts.map(({ id, severity, state, device, ruleName }) => [id, severity, state, device, ruleName])
    const body = { alertIds, ...(assignee && { assignee }), ...(comment && { comment }) }
    return {
      plan: { open, alerts },
      planText: `Would acknowledge ${open} of ${alerts.length} alerts; the others are not open.\n${table(header, rows)}`,
      changes: alerts,
      async act() {
        const { changed, results } = await client.post('/orgs/{orgId}/alert-acknowledgements', {
          params: { path },
          body,
        })
        return { result: { changed, results }, text: `Acknowledged ${changed} of ${results.length} alerts.` }
      },
    }
  },
})
