import { z } from 'zod'
import { notFound } from '#core/errors'
import { newId } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import { authorizeAll, holds } from '#fleet/access/principal'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { createObject, inOrganization, withObject } from '#fleet/verbs'
import { queryEntity } from '#postgres/entities'

/** A view of the web page with its filters. */
export const savedViewSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    place: z.string().describe('The address of the view after `#/`.'),
    shared: z.boolean().describe('True if everybody in the organization sees the view.'),
    isOwn: z.boolean().describe('True if you saved the view.'),
    createdAt: instantOut(),
  })
  .meta({ id: 'SavedView' })

type SavedView = z.infer<typeof savedViewSchema>

type NewView = { organizationId: string; name: string; place: string; shared?: boolean | undefined }
type ViewReference = { organizationId: string; viewId: string }

const columns = 'id, name, place, shared, created_by = $caller AS "isOwn", created_at AS "createdAt"'

/** The caller's views and those shared in the organization, newest first (`fleet:read`). Throws 404. */
export const listViews = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<SavedView>> =>
  inOrganization(ctx, { scope: 'fleet:read', organizationId }, (connection) =>
    queryPage(
      connection,
      `SELECT ${columns} FROM saved_view
       WHERE organization_id = $organizationId AND (shared OR created_by = $caller) AND ($after::uuid IS NULL OR id < $after)
       ORDER BY id DESC LIMIT $limit`,
      { organizationId, caller: ctx.principal.id },
      page,
    ),
  )

/**
 * Saves a view for the caller (`fleet:read`), or with `shared` for everybody in the organization (`org:write`, too). Throws
 * 404, 402, and 409 `limit_reached`.
 */
export async function saveView(
  ctx: FleetContext,
  { organizationId, name, place, shared = false }: NewView,
): Promise<SavedView> {
  authorizeAll(ctx.principal, organizationId, shared ? ['fleet:read', 'org:write'] : ['fleet:read'])
  return createObject(ctx, { scope: 'fleet:read', organizationId }, async (connection) => {
    const id = newId()
    const view = await queryEntity<SavedView>(
      connection,
      `INSERT INTO saved_view (id, organization_id, name, place, shared, created_by, created_at)
       VALUES ($id, $organizationId, $name, $place, $shared, $caller, uuid_extract_timestamp($id)) RETURNING ${columns}`,
      { id, organizationId, name, place, shared, caller: ctx.principal.id },
    )
    await auditObject(ctx, connection, 'saved_view.created', { organizationId, id }, { name, shared })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'savedViews' })
    return view
  })
}

/** Deletes a view of the caller, or any shared one with `org:write` (`fleet:read`). Throws 404 and 402. */
export function deleteView(ctx: FleetContext, { organizationId, viewId }: ViewReference): Promise<void> {
  const object = { scope: 'fleet:read', noun: 'saved view', organizationId, id: viewId } as const
  return withObject(ctx, object, async (connection) => {
    const { rows } = await connection.query<{ name: string }>(
      `DELETE FROM saved_view
       WHERE organization_id = $1 AND id = $2 AND (created_by = $3 OR shared AND $4) RETURNING name`,
      [organizationId, viewId, ctx.principal.id, holds(ctx.principal, organizationId, 'org:write')],
    )
    if (!rows[0]) throw notFound('saved view', viewId)
    await requireActiveSubscription(ctx, connection, organizationId)
    await auditObject(ctx, connection, 'saved_view.deleted', object, rows[0])
  })
}
