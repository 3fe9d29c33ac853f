import type { Queryable } from '#postgres/pool'

/** SQL condition: a worker with a mail server ran in the last five minutes. */
export const hasMailServerSql = "EXISTS (SELECT FROM mail_server WHERE seen_at > now() - interval '5 minutes')"

/** Stores that a worker with a mail server runs. Call it every minute. */
export async function reportMailServer(db: Queryable): Promise<number> {
  await db.query(
    'INSERT INTO mail_server (seen_at) VALUES (now()) ON CONFLICT (only_one) DO UPDATE SET seen_at = now()',
  )
  return 0
}
