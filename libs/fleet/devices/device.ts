import { createHash } from 'node:crypto'
import { notFound } from '#core/errors'
import { authorize, type Principal } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import type { DeviceStatus } from '#fleet/devices/status'
import type { Queryable } from '#postgres/pool'

/** A device as callers see it. */
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

/** A device with its two tags: of everything shown, and of what people change. */
export type TaggedDevice = { device: Device; tag: string; revision: string }

/**
 * The entity tag is `"<revision>-<digest>"`. Telemetry moves the digest all the time, so `If-Match` looks at the revision
 * alone: reading a lively device and changing its name must not fail because it reported in between.
 */
export function tagDevice(row: DeviceRow): TaggedDevice {
  const device = toDevice(row)
  const digest = createHash('sha256').update(JSON.stringify(device)).digest('base64url').slice(0, 12)
  return { device, tag: `"${row.revision}-${digest}"`, revision: row.revision }
}

/** The organizations a principal sees, for `$n::uuid[]`; null is the platform's "all". */
const visibleOrganizations = (principal: Principal): string[] | null =>
  principal.platform ? null : [...principal.grants.keys()]

/**
 * The device of that id, for a caller holding `scope` where it is. Throws 404 when there is none the caller can see, and
 * 403 when it sees the organization but lacks the scope. `lock` holds the row for the caller's transaction.
 */
export async function findDevice(
  ctx: Pick<FleetContext, 'principal'>,
  db: Queryable,
  deviceId: string,
  scope: Scope,
  lock = false,
): Promise<DeviceRow> {
  const { rows } = await db.query<DeviceRow>(
    `SELECT ${deviceColumns} FROM device d
      WHERE d.id = $1 AND ($2::uuid[] IS NULL OR d.organization_id = ANY($2))${lock ? ' FOR UPDATE' : ''}`,
    [deviceId, visibleOrganizations(ctx.principal)],
  )
  const row = rows[0]
  if (!row) throw notFound('device', deviceId)
  authorize(ctx.principal, row.organization_id, scope)
  return row
}
