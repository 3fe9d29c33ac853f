import { authorize } from '#fleet/access/principal'
import { rememberCaller } from '#fleet/audit/actor-names'
import type { FleetContext } from '#fleet/context'
import { type FoundFilter, type Matching, matchingDevices } from '#fleet/devices/matching'
import { requireDevices } from '#fleet/devices/require-devices'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntity } from '#postgres/entities'
import { type Connection, undone } from '#postgres/pool'

/** Devices of an organization: by their ids, or all that match a filter. */
export type DeviceSelection = { deviceIds: string[] } | FoundFilter

type TagChange = { organizationId: string; devices: DeviceSelection; add: string[]; remove: string[]; dryRun: boolean }
/** `refused`: devices that would have had more than 50 tags. They are not changed. */
type TagReport = { matched: number; changed: number; refused: number }

const maxTags = 50
/** Devices per transaction, so that no report of a device waits for long. */
const chunkSize = 5_000

/**
 * Adds tags to devices and removes tags from them (`device:update`). Writes an audit row for each changed device. Works in
 * several transactions; the request can be repeated. With `dryRun`, changes nothing. Throws 404 that names an unknown device or place, and 402.
 */
export async function changeTags(ctx: FleetContext, change: TagChange): Promise<TagReport> {
  const { organizationId, devices } = change
  authorize(ctx.principal, organizationId, 'device:update')
  const report: TagReport = { matched: 0, changed: 0, refused: 0 }
  let after: string | null = null
  do {
    const chunk: Chunk = await tenantTransaction(ctx, [organizationId], async (connection) => {
      await requireActiveSubscription(ctx, connection, organizationId)
      if (after === null && 'deviceIds' in devices) await requireDevices(connection, organizationId, devices.deviceIds)
      const changed = () => changeChunk(ctx, connection, change, after)
      return change.dryRun ? undone(connection, changed) : changed()
    })
    report.matched += chunk.matched
    report.changed += chunk.changed
    report.refused += chunk.refused
    after = chunk.last
  } while (after !== null)
  return report
}

type Chunk = TagReport & { last: string | null }

async function changeChunk(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, devices, add, remove }: TagChange,
  after: string | null,
): Promise<Chunk> {
  const { condition, values } = await selectionSql(ctx, connection, organizationId, devices)
  await rememberCaller(connection, ctx.principal, organizationId)
  return queryEntity<Chunk>(
    connection,
    `WITH selected AS (
       SELECT d.id, d.tags, ARRAY(
         SELECT tag FROM (
           SELECT tag, min(place) AS place
           FROM unnest(d.tags || $add::text[]) WITH ORDINALITY AS kept (tag, place)
           WHERE tag <> ALL ($remove::text[]) GROUP BY tag
         ) one ORDER BY place) AS next
       FROM device d WHERE ${condition} AND ($after::uuid IS NULL OR d.id > $after)
       ORDER BY d.id LIMIT ${chunkSize} FOR UPDATE
     ), changed AS (
       UPDATE device d SET tags = selected.next, revision = revision + 1, updated_at = now()
       FROM selected
       WHERE d.organization_id = $organizationId AND d.id = selected.id AND selected.next <> selected.tags
         AND cardinality(selected.next) <= ${maxTags}
       RETURNING d.id, d.tags
     ), audited AS (
       INSERT INTO audit_entry (id, organization_id, actor, action, subject_type, subject_id, detail, request_id, at)
       SELECT entry.id, $organizationId, $actor, 'device.updated', 'device', entry.device_id, entry.detail, $requestId,
         uuid_extract_timestamp(entry.id)
       FROM (SELECT uuidv7() AS id, changed.id AS device_id, jsonb_build_object('tags', changed.tags) AS detail FROM changed) entry
     )
     SELECT count(*)::int AS matched, (SELECT count(*)::int FROM changed) AS changed,
       (count(*) FILTER (WHERE cardinality(next) > ${maxTags}))::int AS refused,
       CASE WHEN count(*) = ${chunkSize} THEN (SELECT id FROM selected ORDER BY id DESC LIMIT 1) END AS last
     FROM selected`,
    { ...values, add, remove, after, actor: ctx.principal.id, requestId: ctx.requestId },
  )
}

/** The condition of a selection, with the parameter `organizationId` and others. */
export async function selectionSql(
  ctx: FleetContext,
  connection: Connection,
  organizationId: string,
  devices: DeviceSelection,
): Promise<Matching> {
  if ('filter' in devices) return matchingDevices(ctx, connection, { organizationId, ...devices })
  return {
    condition: 'd.organization_id = $organizationId AND d.id = ANY ($deviceIds::uuid[])',
    values: { organizationId, deviceIds: devices.deviceIds },
  }
}
