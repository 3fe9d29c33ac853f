import { z } from 'zod'
import type { Alert } from '#alerts/inbox/alert'
import { type AlertNotes, type Handling, isWritten, writeHandled } from '#alerts/inbox/handle'
import { type AlertFilter, matchingAlerts } from '#alerts/inbox/matching'
import { uuid } from '#core/schemas'
import type { FleetContext } from '#fleet/context'
import { inOrganization } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/** Most alerts that one request handles. */
export const maxHandledAlerts = 1_000

/** What a request did with alerts. */
export const handledAlertsSchema = z
  .object({
    changed: z.int().describe('How many alerts were changed.'),
    results: z
      .array(
        z.object({
          alertId: uuid(),
          outcome: z
            .enum(['changed', 'unchanged', 'closed', 'not_found'])
            .describe('`unchanged`: it was so already. `closed`: it cannot be acknowledged any more.'),
        }),
      )
      .describe('One for each alert of `alertIds` in their order, or for each that matched, oldest first.'),
    hasMore: z
      .boolean()
      .describe('More than 1,000 alerts matched `filter`. The others were not changed; send the request again.'),
  })
  .meta({ id: 'HandledAlerts' })

type HandledAlerts = z.infer<typeof handledAlertsSchema>
type Outcome = HandledAlerts['results'][number]['outcome']

/** Alerts of an organization: by their ids, or the oldest that match a filter. */
type AlertSelection = { alertIds: readonly string[] } | { filter: AlertFilter }

type ManyAlerts = { organizationId: string; alerts: AlertSelection; notes: AlertNotes }

/**
 * Acknowledges alerts (`alert:acknowledge`), at most 1,000: those that are chosen, or the open ones that match a filter. Writes the
 * notes also to chosen alerts that were acknowledged before. Can be repeated. Throws 404, also for an unknown group.
 */
export const acknowledgeAlerts = (ctx: FleetContext, many: ManyAlerts): Promise<HandledAlerts> =>
  handleAlerts(ctx, many, {
    handling: 'acknowledged',
    states: ['open'],
    outcomeOf: (alert) => {
      if (alert.state === 'closed') return 'closed'
      return alert.state === 'acknowledged' && isWritten(alert, many.notes) ? 'unchanged' : 'changed'
    },
  })

/** Closes alerts (`alert:acknowledge`), at most 1,000: those that are chosen, or that match a filter. Can be repeated. Throws 404. */
export const closeAlerts = (ctx: FleetContext, many: ManyAlerts): Promise<HandledAlerts> =>
  handleAlerts(ctx, many, {
    handling: 'closed',
    states: ['open', 'acknowledged'],
    outcomeOf: ({ state }) => (state === 'closed' ? 'unchanged' : 'changed'),
  })

type Verb = {
  handling: Exclude<Handling, 'updated'>
  /** The states that a filter without states matches. */
  states: Alert['state'][]
  outcomeOf: (alert: LockedAlert) => Outcome
}

const handleAlerts = (ctx: FleetContext, many: ManyAlerts, { handling, states, outcomeOf }: Verb) =>
  inOrganization(
    ctx,
    { scope: 'alert:acknowledge', organizationId: many.organizationId },
    async (connection): Promise<HandledAlerts> => {
      const { organizationId, alerts, notes } = many
      const found = await lockAlerts(ctx, connection, organizationId, withStates(alerts, states))
      const taken = found.slice(0, maxHandledAlerts)
      const outcomes = new Map(taken.map((alert) => [alert.id, outcomeOf(alert)]))
      const alertIds = [...outcomes].flatMap(([id, outcome]) => (outcome === 'changed' ? [id] : []))
      // What was acknowledged before keeps its state, and its record does not say that it was acknowledged again.
      const before = new Set(taken.flatMap(({ id, state }) => (state === handling ? [id] : [])))
      const [again, first] = [alertIds.filter((id) => before.has(id)), alertIds.filter((id) => !before.has(id))]
      await writeHandled(ctx, connection, { organizationId, alertIds: first, handling, notes })
      await writeHandled(ctx, connection, { organizationId, alertIds: again, handling: 'updated', notes })
      const named = 'alertIds' in alerts ? alerts.alertIds : taken.map(({ id }) => id)
      return {
        changed: alertIds.length,
        results: named.map((alertId) => ({ alertId, outcome: outcomes.get(alertId) ?? 'not_found' })),
        hasMore: found.length > taken.length,
      }
    },
  )

const withStates = (alerts: AlertSelection, states: Alert['state'][]): AlertSelection =>
  'filter' in alerts ? { filter: { ...alerts.filter, state: alerts.filter.state ?? states } } : alerts

type LockedAlert = Pick<Alert, 'id' | 'state' | 'comment' | 'assignee'>

/** Locks alerts in the order of their ids: the chosen ones, or one more than a request handles. */
async function lockAlerts(
  ctx: FleetContext,
  connection: Connection,
  organizationId: string,
  alerts: AlertSelection,
): Promise<LockedAlert[]> {
  const { condition, values } =
    'filter' in alerts
      ? await matchingAlerts(ctx, connection, { organizationId, filter: alerts.filter })
      : {
          condition: 'a.organization_id = $organizationId AND a.id = ANY ($alertIds::uuid[])',
          values: { organizationId, alertIds: alerts.alertIds },
        }
  return queryEntities<LockedAlert>(
    connection,
    `SELECT a.id, a.state, a.comment, a.assignee FROM alert a WHERE ${condition}
     ORDER BY a.id LIMIT ${maxHandledAlerts + 1} FOR UPDATE OF a`,
    values,
  )
}
