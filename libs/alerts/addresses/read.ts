import { type AddressRow, type AlertAddress, addressColumns, toAddress } from '#alerts/addresses/address'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'

/**
 * The addresses of the organization in alphabetical order (`alert:read`): those of rules, and those whose owner was asked.
 * People who signed in are not listed before a rule names their address.
 */
export async function listAddresses(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<AlertAddress>> {
  authorize(ctx.principal, organizationId, 'alert:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<AddressRow>(
      `SELECT ${addressColumns} FROM alert_address
       WHERE organization_id = $1 AND ($2::text IS NULL OR address COLLATE "C" > $2)
         AND (confirmed_by IS DISTINCT FROM 'sign_in' OR address IN (
           SELECT lower(email) FROM alert_rule r, unnest(r.emails) AS email WHERE r.organization_id = $1))
       ORDER BY address COLLATE "C" LIMIT $3`,
      [organizationId, page.after ?? null, page.limit + 1],
    )
    return pageBy(rows, page.limit, toAddress, ({ address }) => address)
  })
}
