import { isConfirmedSql } from '#alerts/addresses/address'
import type { Alert } from '#alerts/inbox/alert'
import { nextMessageAtSql } from '#messages/turns'
import type { Queryable } from '#postgres/pool'

/** Alerts that a message names. */
const maxNamedAlerts = 50

/** At least this long between two messages of a rule to an address; alerts that open meanwhile share the next one. */
const pause = "interval '5 minutes'"

/**
 * Queues one message per rule and confirmed address about alerts that opened, in the transaction that opens them. Adds the alerts to a
 * message that waits already.
 */
export async function queueMails(connection: Queryable, opened: readonly Alert[]): Promise<void> {
  if (opened.length === 0) return
  await connection.query(
    `INSERT INTO alert_mail AS mail (id, organization_id, rule_id, address, alert_ids, alert_count, next_attempt_at)
     SELECT uuidv7(), r.organization_id, r.id, address, opened.ids[1:${maxNamedAlerts}], cardinality(opened.ids),
       ${nextMessageAtSql('alert_mail', { pause, isSame: 'earlier.rule_id = r.id AND earlier.address = recipient.address' })}
     FROM (SELECT rule_id, array_agg(id) AS ids FROM unnest($1::uuid[], $2::uuid[]) AS alert (rule_id, id) GROUP BY rule_id) opened
       JOIN alert_rule r ON r.id = opened.rule_id
       CROSS JOIN unnest(r.emails) AS recipient (address)
     WHERE ${isConfirmedSql('r.organization_id', 'recipient.address')}
     ON CONFLICT (rule_id, address) WHERE attempt = 0
       DO UPDATE SET alert_ids = (mail.alert_ids || excluded.alert_ids)[1:${maxNamedAlerts}],
         alert_count = mail.alert_count + excluded.alert_count`,
    [opened.map(({ ruleId }) => ruleId), opened.map(({ id }) => id)],
  )
}
