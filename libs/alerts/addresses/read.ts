import { type AlertAddress, addressColumns } from '#alerts/addresses/address'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'
import { inOrganization } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'

/**
 * The addresses of the organization in alphabetical order (`alert:read`): those of rules, and those whose owner was asked.
 * People who signed in are not listed before a rule names their address.
 */
export const listAddresses = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<AlertAddress>> =>
  inOrganization(ctx, { scope: 'alert:read', organizationId }, async (connection) => {
    const rows = await queryEntities<AlertAddress>(
      connection,
      `SELECT ${addressColumns} FROM alert_address
       WHERE organization_id = $organizationId AND ($after::text IS NULL OR address COLLATE "C" > $after)
         AND (confirmed_by IS DISTINCT FROM 'sign_in' OR address IN (
           SELECT lower(email) FROM alert_rule r, unnest(r.emails) AS email WHERE r.organization_id = $organizationId))
       ORDER BY address COLLATE "C" LIMIT $limit`,
      { organizationId, after: page.after, limit: page.limit + 1 },
    )
    return pageBy(
      rows,
      page.limit,
      (address) => address,
      ({ email }) => email,
    )
  })
