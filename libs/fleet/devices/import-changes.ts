import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import type { NewDevice } from '#fleet/devices/register'
import type { Connection } from '#postgres/pool'

/**
 * The row at `index`, whose serial the device with this id already has. Without `hasTags`, the device keeps its tags, and with
 * undefined notes its notes.
 */
export type ImportedChange = { index: number; deviceId: string; device: NewDevice; hasTags: boolean }

type ChangedRow = { place: number; id: string; changes: Record<string, unknown> }

/**
 * Sets name, model, tags and notes of devices, and writes an audit row for each device that changes. Returns the
 * id of each device by the index of its row. The verb must authorize the caller.
 */
export async function updateImported(
  ctx: FleetContext,
  connection: Connection,
  organizationId: string,
  rows: readonly ImportedChange[],
): Promise<Map<number, string>> {
  if (rows.length === 0) return new Map()
  const wanted = rows.map(({ deviceId, device, hasTags }, place) => ({
    place,
    id: deviceId,
    name: device.name,
    model: device.model,
    tags: hasTags ? device.tags : null,
    hasNotes: device.notes !== undefined,
    notes: device.notes || null,
  }))
  const { rows: found } = await connection.query<ChangedRow>(
    `WITH target AS (
       SELECT d.id, d.name, d.model, d.tags, d.notes, wanted.place, wanted.name AS next_name, wanted.model AS next_model,
         coalesce(wanted.tags, d.tags) AS next_tags, CASE WHEN "hasNotes" THEN wanted.notes ELSE d.notes END AS next_notes
       FROM jsonb_to_recordset($2::jsonb) AS wanted
         (place int, id uuid, name text, model text, tags text[], "hasNotes" boolean, notes text)
       JOIN device d ON d.organization_id = $1 AND d.id = wanted.id
       ORDER BY d.id FOR UPDATE OF d
     ), changed AS (
       UPDATE device d SET name = next_name, model = next_model, tags = next_tags, notes = next_notes,
         revision = revision + 1, updated_at = now()
       FROM target WHERE d.organization_id = $1 AND d.id = target.id
         AND (target.name, target.model, target.tags, target.notes)
           IS DISTINCT FROM (next_name, next_model, next_tags, next_notes)
     )
     SELECT place, id, jsonb_strip_nulls(jsonb_build_object(
       'name', CASE WHEN name <> next_name THEN next_name END,
       'model', CASE WHEN model <> next_model THEN next_model END,
       'tags', CASE WHEN tags <> next_tags THEN to_jsonb(next_tags) END,
       'notes', CASE WHEN notes IS DISTINCT FROM next_notes
         THEN CASE WHEN next_notes IS NULL THEN 'removed' ELSE 'changed' END END)) AS changes
     FROM target`,
    [organizationId, JSON.stringify(wanted)],
  )
  await auditCaller(
    ctx,
    connection,
    ...found
      .filter(({ changes }) => Object.keys(changes).length > 0)
      .map(({ id, changes }) => ({
        ...{ organizationId, action: 'device.updated', subjectId: id },
        detail: changes,
      })),
  )
  return new Map(found.map(({ place, id }) => [rows[place]?.index ?? -1, id]))
}
