import type { Queryable } from '#postgres/pool'

/** `waiting`: its owner has neither confirmed nor refused it. Only confirmed addresses receive alerts. */
export const addressStates = ['waiting', 'confirmed', 'refused'] as const
type AddressState = (typeof addressStates)[number]

/** An address of an organization to which alert rules send e-mail. */
export type AlertAddress = {
  email: string
  state: AddressState
  /** The owner used a link, signed in with the address, or received alerts before confirmations existed. */
  confirmedBy: 'link' | 'sign_in' | 'upgrade' | null
  /** When the state changed. */
  changedAt: string
  /** When the last message with a link was requested and sent; null if none was. */
  requestedAt: string | null
  sentAt: string | null
}

export type AddressRow = {
  address: string
  state: AddressState
  confirmed_by: AlertAddress['confirmedBy']
  changed_at: Date
  requested_at: Date | null
  sent_at: Date | null
  requests: number
}

export const addressColumns = 'address, state, confirmed_by, changed_at, requested_at, sent_at, requests'

export const toAddress = (row: AddressRow): AlertAddress => ({
  email: row.address,
  state: row.state,
  confirmedBy: row.confirmed_by,
  changedAt: row.changed_at.toISOString(),
  requestedAt: row.requested_at?.toISOString() ?? null,
  sentAt: row.sent_at?.toISOString() ?? null,
})

/** An address of a rule that receives no alerts, in the form of the rule. */
export type UnconfirmedEmail = { email: string; state: Exclude<AddressState, 'confirmed'> }

/** SQL value for a row of `alert_rule`: its `UnconfirmedEmail`s as JSON. An address that is not registered waits. */
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
