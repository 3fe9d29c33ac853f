import { deleteInChunks } from '#postgres/delete-in-chunks'
import type { Pool } from '#postgres/pool'

/**
 * Deletes alerts 400 days after they closed, messages by e-mail and chat after three days, data use after 62 days, and addresses that did not
 * answer and have no rule after seven. Returns how many rows.
 */
export const pruneAlerts = ({ pool }: { pool: Pool }): Promise<number> =>
  deleteInChunks(pool, [
    { table: 'alert', where: "ended_at < now() - interval '400 days'" },
    { table: 'alert_mail', where: "created_at < now() - interval '3 days'" },
    { table: 'chat_message', where: "created_at < now() - interval '3 days'" },
    { table: 'alert_mail_day', where: 'day < current_date - 7' },
    { table: 'alert_address_link', where: 'expires_at < now()' },
    { table: 'alert_address', where: isAbandoned },
    { table: 'device_data_use', where: 'day < current_date - 62' },
    { table: 'data_use_day', where: 'day < current_date - 62' },
  ])

/** An address that no rule names any more, whose owner did not answer. */
const isAbandoned = `state = 'waiting' AND changed_at < now() - interval '7 days'
  AND requested_at < now() - interval '7 days' AND NOT EXISTS (
    SELECT FROM alert_rule r, unnest(r.emails) AS email
    WHERE r.organization_id = alert_address.organization_id AND lower(email) = alert_address.address)`
