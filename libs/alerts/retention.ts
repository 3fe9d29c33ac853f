import type { Pool } from '#postgres/pool'

/** Deletes alerts 400 days after they closed and messages after three days. Returns how many rows. */
export async function pruneAlerts({ pool }: { pool: Pool }): Promise<number> {
  const alerts = await pool.query("DELETE FROM alert WHERE ended_at < now() - interval '400 days'")
  const mails = await pool.query("DELETE FROM alert_mail WHERE created_at < now() - interval '3 days'")
  const days = ['device_data_use', 'data_use_day'].map((table) =>
    pool.query(`DELETE FROM ${table} WHERE day < current_date - 62`),
  )
  await Promise.all(days)
  return (alerts.rowCount ?? 0) + (mails.rowCount ?? 0)
}
