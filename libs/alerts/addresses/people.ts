import { reviseRules } from '#alerts/addresses/address'
import { systemTransaction } from '#fleet/tenant'
import type { Pool } from '#postgres/pool'

type SignedInPerson = { organizationIds: readonly string[]; email: string }

/**
 * Confirms the address of a person who signed in, in the organizations to which the person has access. The identity provider
 * must have verified the address. A refusal stays.
 */
export async function confirmPerson(pool: Pool, { organizationIds, email }: SignedInPerson): Promise<void> {
  if (organizationIds.length === 0) return
  await systemTransaction({ pool }, async (connection) => {
    const { rows } = await connection.query<{ organization_id: string; address: string }>(
      `INSERT INTO alert_address (organization_id, address, state, confirmed_by)
       SELECT id, lower($2), 'confirmed', 'sign_in' FROM organization WHERE id = ANY ($1::uuid[]) ORDER BY id
       ON CONFLICT (organization_id, address) DO UPDATE
         SET state = 'confirmed', confirmed_by = 'sign_in', changed_at = now(), next_attempt_at = NULL
         WHERE alert_address.state = 'waiting'
       RETURNING organization_id, address`,
      [organizationIds, email],
    )
    for (const { organization_id, address } of rows) await reviseRules(connection, organization_id, [address])
  })
}
