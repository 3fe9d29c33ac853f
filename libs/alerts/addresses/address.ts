import { z } from 'zod'
import { instantOut } from '#core/schemas'
import type { Queryable } from '#postgres/pool'

/** `waiting`: its owner has neither confirmed nor refused it. Only confirmed addresses receive alerts. */
export const addressStates = ['waiting', 'confirmed', 'refused'] as const

/** An address of an organization to which alert rules send e-mail. */
export const addressSchema = z
  .object({
    email: z.string().describe('In lower case.'),
    state: z.enum(addressStates).describe('Only confirmed addresses receive alerts.'),
    confirmedBy: z
      .enum(['link', 'sign_in', 'upgrade'])
      .nullable()
      .describe(
        'The owner used a link, signed in with the address, or received alerts before confirmations existed. Null if not confirmed.',
      ),
    changedAt: instantOut().describe('When the state changed.'),
    requestedAt: instantOut().nullable().describe('When the last message with a link was requested.'),
    lastTest: z
      .object({
        state: z.enum(['waiting', 'sent', 'failed']),
        at: instantOut().describe('When it was sent or given up, or when it was requested while it waits.'),
        error: z.string().nullable().describe('Why it was given up; null otherwise.'),
      })
      .nullable()
      .describe('The last test message; null if there was none.'),
    sentAt: instantOut().nullable().describe('When the last message with a link was sent.'),
  })
  .meta({ id: 'AlertAddress' })

export type AlertAddress = z.infer<typeof addressSchema>

/** The columns of an `AlertAddress`, for SELECT and RETURNING. */
export const addressColumns = `address AS email, state, confirmed_by AS "confirmedBy", changed_at AS "changedAt",
  requested_at AS "requestedAt", sent_at AS "sentAt",
  CASE WHEN test_requested_at IS NOT NULL THEN json_build_object(
    'state', CASE WHEN test_ended_at IS NULL THEN 'waiting' WHEN test_error IS NULL THEN 'sent' ELSE 'failed' END,
    'at', to_char(coalesce(test_ended_at, test_requested_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'error', test_error) END AS "lastTest"`

/** An address of a rule that receives no alerts, in the form of the rule. */
export const unconfirmedEmailSchema = z.object({
  email: z.string(),
  state: z.enum(addressStates).exclude(['confirmed']),
})

/** SQL value for a row of `alert_rule`: its unconfirmed addresses as JSON. An address that is not registered waits. */
export const unconfirmedEmailsSql = `(
  SELECT coalesce(jsonb_agg(jsonb_build_object('email', e.email, 'state', coalesce(a.state, 'waiting')) ORDER BY e.ordinal), '[]')
  FROM unnest(alert_rule.emails) WITH ORDINALITY AS e (email, ordinal)
  LEFT JOIN alert_address a ON a.organization_id = alert_rule.organization_id AND a.address = lower(e.email)
  WHERE a.state IS DISTINCT FROM 'confirmed')`

/** SQL condition that an organization's address is confirmed. */
export const isConfirmedSql = (organizationId: string, email: string): string =>
  `EXISTS (SELECT FROM alert_address known
    WHERE known.organization_id = ${organizationId} AND known.address = lower(${email}) AND known.state = 'confirmed')`

/** Gives the rules with these addresses a new revision, because readers see the states of their addresses. */
export async function reviseRules(db: Queryable, organizationId: string, addresses: readonly string[]): Promise<void> {
  await db.query(
    `UPDATE alert_rule SET revision = revision + 1
     WHERE organization_id = $1 AND EXISTS (SELECT FROM unnest(emails) AS email WHERE lower(email) = ANY ($2::text[]))`,
    [organizationId, addresses],
  )
}
