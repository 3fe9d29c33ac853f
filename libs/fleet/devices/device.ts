import { createHash } from 'node:crypto'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorize, visibleOrganizations } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import type { DeviceStatus } from '#fleet/devices/status'
import type { Queryable } from '#postgres/pool'

/** A device as the API returns it. */
export type Device = {
  id: string
  organizationId: string
  serial: string
  name: string
  model: string
  tags: string[]
  status: DeviceStatus
  lastSeenAt: string | null
  firmware: string | null
  configProfile: { id: string; version: number } | null
  location: { lat: number; lon: number; ts: string } | null
  createdAt: string
  updatedAt: string
}

export type DeviceRow = {
  id: string
  organization_id: string
  serial: string
  name: string
  model: string
  tags: string[]
  status: DeviceStatus
  last_seen_at: Date | null
  firmware: string | null
  config_profile_id: string | null
  config_profile_version: number | null
  last_lat: number | null
  last_lon: number | null
  last_fix_at: Date | null
  revision: string
  created_at: Date
  updated_at: Date
}

/** The columns of a `DeviceRow`, for SELECT and RETURNING on `device` named `d`. */
export const deviceColumns = `d.id, d.organization_id, d.serial, d.name, d.model, d.tags, d.status, d.last_seen_at,
  d.firmware, d.config_profile_id, d.config_profile_version, d.last_lat, d.last_lon, d.last_fix_at, d.revision,
  d.created_at, d.updated_at`

export const toDevice = (row: DeviceRow): Device => ({
  id: row.id,
  organizationId: row.organization_id,
  serial: row.serial,
  name: row.name,
  model: row.model,
  tags: row.tags,
  status: row.status,
  lastSeenAt: row.last_seen_at?.toISOString() ?? null,
  firmware: row.firmware,
  configProfile:
    row.config_profile_id === null || row.config_profile_version === null
      ? null
      : { id: row.config_profile_id, version: row.config_profile_version },
  location:
    row.last_lat === null || row.last_lon === null || row.last_fix_at === null
      ? null
      : { lat: row.last_lat, lon: row.last_lon, ts: row.last_fix_at.toISOString() },
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

/** Input of a verb that changes a device. `precondition` receives the device before the change and may throw 412. */
export type ConditionalChange = { deviceId: string; precondition: (current: TaggedDevice) => void }

/** A device with its entity tag and its revision. */
export type TaggedDevice = { device: Device; tag: string; revision: string }

/**
 * Adds the entity tag `"<revision>-<digest>"`. Every report changes the digest, so `If-Match` compares only the revision:
 * an update must not fail because the device reported in the meantime.
 */
export function tagDevice(row: DeviceRow): TaggedDevice {
  const device = toDevice(row)
  const digest = createHash('sha256').update(JSON.stringify(device)).digest('base64url').slice(0, 12)
  return { device, tag: `"${row.revision}-${digest}"`, revision: row.revision }
}

/**
 * Returns the device with that id for a caller who holds `scope` in its organization. Throws 404 when the device does not
 * exist or the caller holds no scope there, and 403 when only this scope is missing. `lock` locks the row until the end of
 * the transaction.
 */
export async function findDevice(
  ctx: Pick<FleetContext, 'principal'>,
  db: Queryable,
  deviceId: string,
  scope: Scope,
  lock = false,
): Promise<DeviceRow> {
  const row = await findVisibleDevice(ctx, db, deviceId, lock)
  authorize(ctx.principal, row.organization_id, scope)
  return row
}

/** Like `findDevice`, for a caller with any scope in the organization. The verb must check its own scope. */
export async function findVisibleDevice(
  ctx: Pick<FleetContext, 'principal'>,
  db: Queryable,
  deviceId: string,
  lock = false,
): Promise<DeviceRow> {
  const { rows } = await db.query<DeviceRow>(
    `SELECT ${deviceColumns} FROM device d
      WHERE d.id = $1 AND ($2::uuid[] IS NULL OR d.organization_id = ANY($2))${lock ? ' FOR UPDATE' : ''}`,
    [isUuid(deviceId) ? deviceId : null, visibleOrganizations(ctx.principal)],
  )
  const row = rows[0]
  if (!row) throw notFound('device', deviceId)
  return row
}

/** Writes the audit row of what the caller did to a device. */
export const auditDevice = (
  ctx: Pick<FleetContext, 'principal' | 'requestId'>,
  connection: Queryable,
  device: Pick<DeviceRow, 'id' | 'organization_id'>,
  action: string,
  detail?: Record<string, unknown>,
): Promise<void> =>
  auditCaller(ctx, connection, {
    organizationId: device.organization_id,
    action,
    subjectType: 'device',
    subjectId: device.id,
    ...(detail === undefined ? {} : { detail }),
  })
