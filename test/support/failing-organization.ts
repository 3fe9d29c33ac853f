import type { Pool } from '#postgres/pool'

/** Makes the inserts and updates of a table fail for one organization, as broken data would. Returns what ends that. */
export async function failFor(pool: Pool, table: string, organizationId: string): Promise<() => Promise<void>> {
  await pool.query(
    `CREATE OR REPLACE FUNCTION fail_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'broken for a test'; END $$;
     CREATE TRIGGER fail_for_test BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW
       WHEN (NEW.organization_id = '${organizationId}') EXECUTE FUNCTION fail_for_test()`,
  )
  return async () => void (await pool.query(`DROP TRIGGER fail_for_test ON ${table}`))
}
