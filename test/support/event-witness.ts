import type { Pool } from '#postgres/pool'

/**
 * Records each event when it is published, because the worker relays and deletes events immediately. Returns the number of
 * events per type for an organization.
 */
export async function witnessEvents(pool: Pool): Promise<(organizationId: string) => Promise<Record<string, number>>> {
  await pool.query(`
    CREATE TABLE witnessed_event (organization_id uuid, type text);
    CREATE FUNCTION witness_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.witnessed_event VALUES (NEW.organization_id, NEW.type);
      RETURN NULL;
    END $$;
    CREATE TRIGGER witness AFTER INSERT ON outbox_event FOR EACH ROW EXECUTE FUNCTION witness_event()`)
  return async (organizationId) => {
    const { rows } = await pool.query<{ type: string; count: number }>(
      'SELECT type, count(*)::int AS count FROM witnessed_event WHERE organization_id = $1 GROUP BY type',
      [organizationId],
    )
    return Object.fromEntries(rows.map(({ type, count }) => [type, count]))
  }
}
