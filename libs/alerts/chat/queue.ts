import type { Alert } from '#alerts/inbox/alert'
import { nextMessageAtSql } from '#messages/turns'
import type { Queryable } from '#postgres/pool'

/** Alerts that a message names. */
const maxNamedAlerts = 20

/** At least this long between two messages of a rule to a channel; alerts that open meanwhile share the next one. */
const pause = "interval '1 minute'"

/**
 * Queues one message per rule and chat channel about alerts that opened, in the transaction that opens them. Adds the alerts to
 * a message that waits already.
 */
export async function queueChatMessages(connection: Queryable, opened: readonly Alert[]): Promise<void> {
  if (opened.length === 0) return
  await connection.query(
    `INSERT INTO chat_message AS message (id, organization_id, channel_id, rule_id, alert_ids, alert_count, next_attempt_at)
     SELECT uuidv7(), r.organization_id, c.id, r.id, opened.ids[1:${maxNamedAlerts}], cardinality(opened.ids),
       ${nextMessageAtSql('chat_message', { pause, isSame: 'earlier.rule_id = r.id AND earlier.channel_id = c.id' })}
     FROM (SELECT rule_id, array_agg(id) AS ids FROM unnest($1::uuid[], $2::uuid[]) AS alert (rule_id, id) GROUP BY rule_id) opened
       JOIN alert_rule r ON r.id = opened.rule_id
       JOIN chat_channel c ON c.organization_id = r.organization_id AND c.id = ANY (r.chat_channel_ids)
     ON CONFLICT (rule_id, channel_id) WHERE attempt = 0
       DO UPDATE SET alert_ids = (message.alert_ids || excluded.alert_ids)[1:${maxNamedAlerts}],
         alert_count = message.alert_count + excluded.alert_count`,
    [opened.map(({ ruleId }) => ruleId), opened.map(({ id }) => id)],
  )
}
