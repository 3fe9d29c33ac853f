import { deleteInChunks } from '#postgres/delete-in-chunks'
import type { Pool } from '#postgres/pool'

/** Deletes alerts 400 days after they closed, messages after three days and data use after 62 days. Returns how many rows. */
export const pruneAlerts = ({ pool }: { pool: Pool }): Promise<number> =>
  deleteInChunks(pool, [
    { table: 'alert', where: "ended_at < now() - interval '400 days'" },
    { table: 'alert_mail', where: "created_at < now() - interval '3 days'" },
    { table: 'device_data_use', where: 'day < current_date - 62' },
    { table: 'data_use_day', where: 'day < current_date - 62' },
  ])
