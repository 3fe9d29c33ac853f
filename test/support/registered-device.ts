import { newId } from '#core/ids'
import type { Queryable } from '#postgres/pool'

type DeviceFacts = { name?: string; tags?: string[]; status?: string }

/** Registers a device as enrollment does. Returns its id. */
export async function registerDevice(db: Queryable, organizationId: string, facts: DeviceFacts = {}): Promise<string> {
  const id = newId()
  const { name = `Router ${id.slice(-6)}`, tags = [], status = 'online' } = facts
  await db.query(
    `INSERT INTO device (id, organization_id, serial, name, model, tags, status)
     VALUES ($1, $2, $1::uuid::text, $3, 'R1', $4, $5)`,
    [id, organizationId, name, tags, status],
  )
  await db.query(
    'INSERT INTO device_ownership (device_id, organization_id, owned_from) VALUES ($1, $2, now() - make_interval(days => 30))',
    [id, organizationId],
  )
  await db.query(
    `INSERT INTO organization_usage (organization_id, device_count) VALUES ($1, 1)
     ON CONFLICT (organization_id) DO UPDATE SET device_count = organization_usage.device_count + 1`,
    [organizationId],
  )
  return id
}

/** Transfers a device to another organization at a given time. */
export async function transferDevice(db: Queryable, deviceId: string, to: string, atMs: number): Promise<void> {
  const at = new Date(atMs)
  await db.query(
    `UPDATE organization_usage usage SET device_count = device_count + CASE usage.organization_id WHEN $2 THEN 1 ELSE -1 END
     WHERE organization_id IN ($2, (SELECT organization_id FROM device WHERE id = $1))`,
    [deviceId, to],
  )
  await db.query('UPDATE device_ownership SET owned_to = $2 WHERE device_id = $1 AND owned_to IS NULL', [deviceId, at])
  await db.query('INSERT INTO device_ownership (device_id, organization_id, owned_from) VALUES ($1, $2, $3)', [
    deviceId,
    to,
    at,
  ])
  await db.query('DELETE FROM device_group_member WHERE device_id = $1', [deviceId])
  await db.query('UPDATE device SET organization_id = $2, updated_at = now() WHERE id = $1', [deviceId, to])
}

/** Deletes a device and its ownership, which hides its telemetry. */
export async function deleteDevice(db: Queryable, deviceId: string): Promise<void> {
  await db.query(
    `UPDATE organization_usage SET device_count = device_count - 1
     WHERE organization_id = (SELECT organization_id FROM device WHERE id = $1)`,
    [deviceId],
  )
  await db.query('DELETE FROM device_ownership WHERE device_id = $1', [deviceId])
  await db.query('DELETE FROM device WHERE id = $1', [deviceId])
}
