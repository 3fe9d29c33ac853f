import { notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize, authorizeAll, holds } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'

/** A view of the web page with its filters. `isOwn`: the caller saved it. */
export type SavedView = {
  id: string
  name: string
  place: string
  shared: boolean
  isOwn: boolean
  createdAt: string
}

type ViewRow = { id: string; name: string; place: string; shared: boolean; created_by: string; created_at: Date }

type NewView = { organizationId: string; name: string; place: string; shared?: boolean | undefined }
type ViewReference = { organizationId: string; viewId: string }

const columns = 'id, name, place, shared, created_by, created_at'

const toView =
  (caller: string) =>
  (row: ViewRow): SavedView => ({
    id: row.id,
    name: row.name,
    place: row.place,
    shared: row.shared,
    isOwn: row.created_by === caller,
    createdAt: row.created_at.toISOString(),
  })

/** The caller's views and those shared in the organization, newest first (`fleet:read`). Throws 404. */
export async function listViews(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<SavedView>> {
  authorize(ctx.principal, organizationId, 'fleet:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<ViewRow>(
      `SELECT ${columns} FROM saved_view
       WHERE organization_id = $1 AND (shared OR created_by = $2) AND ($3::uuid IS NULL OR id < $3)
       ORDER BY id DESC LIMIT $4`,
      [organizationId, ctx.principal.id, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toView(ctx.principal.id))
  })
}

/**
 * Saves a view for the caller (`fleet:read`), or with `shared` for everybody in the organization (`org:write`, too). Throws
 * 404, 402, and 409 `limit_reached`.
 */
export async function saveView(ctx: FleetContext, { organizationId, ...view }: NewView): Promise<SavedView> {
  authorizeAll(ctx.principal, organizationId, view.shared ? ['fleet:read', 'org:write'] : ['fleet:read'])
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const id = newId()
    const { rows } = await connection.query<ViewRow>(
      `INSERT INTO saved_view (id, organization_id, name, place, shared, created_by, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, uuid_extract_timestamp($1)) RETURNING ${columns}`,
      [id, organizationId, view.name, view.place, view.shared ?? false, ctx.principal.id],
    )
    const subject = { organizationId, subjectType: 'saved_view', subjectId: id }
    const detail = { name: view.name, shared: view.shared ?? false }
    await auditCaller(ctx, connection, { ...subject, action: 'saved_view.created', detail })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'savedViews' })
    const [row] = rows
    if (!row) throw new Error('The view was not written.')
    return toView(ctx.principal.id)(row)
  })
}

/** Deletes a view of the caller, or any shared one with `org:write` (`fleet:read`). Throws 404 and 402. */
export async function deleteView(ctx: FleetContext, { organizationId, viewId }: ViewReference): Promise<void> {
  await authorizeObject(ctx, organizationId, 'fleet:read', 'saved view', viewId)
  const mayDeleteShared = holds(ctx.principal, organizationId, 'org:write')
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<{ name: string }>(
      `SELECT name FROM saved_view
       WHERE organization_id = $1 AND id = $2 AND (created_by = $3 OR shared AND $4) FOR UPDATE`,
      [organizationId, isUuid(viewId) ? viewId : null, ctx.principal.id, mayDeleteShared],
    )
    if (!rows[0]) throw notFound('saved view', viewId)
    await requireActiveSubscription(ctx, connection, organizationId)
    await connection.query('DELETE FROM saved_view WHERE organization_id = $1 AND id = $2', [organizationId, viewId])
    const subject = { organizationId, subjectType: 'saved_view', subjectId: viewId }
    await auditCaller(ctx, connection, { ...subject, action: 'saved_view.deleted', detail: rows[0] })
  })
}
