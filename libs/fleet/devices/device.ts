import { createHash } from 'node:crypto'
import { z } from 'zod'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import { authorize, visibleOrganizations } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { deviceStatuses } from '#fleet/devices/status'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntities } from '#postgres/entities'
import type { Connection, Queryable } from '#postgres/pool'

export const deviceSchema = z
  .object({
    id: uuid(),
    organizationId: uuid(),
    serial: z.string(),
    name: z.string(),
    model: z.string(),
    tags: z.array(z.string()),
    status: z.enum(deviceStatuses),
    lastSeenAt: instantOut().nullable(),
    firmware: z.string().nullable(),
    configProfile: z
      .object({ id: uuid(), version: z.int() })
      .meta({ id: 'AppliedProfile' })
      .nullable()
      .describe('The profile last applied to the device.'),
    location: z.object({ lat: z.number(), lon: z.number(), ts: instantOut() }).meta({ id: 'LastLocation' }).nullable(),
    notes: z.string().nullable().describe('Null without notes, and for callers without `device:read`.'),
    createdAt: instantOut(),
    updatedAt: instantOut(),
  })
  .meta({ id: 'Device' })

export type Device = z.infer<typeof deviceSchema>

/** The columns of a `Device` named `d` without its notes, which need `device:read`. */
export const columnsWithoutNotes = `d.id, d.organization_id AS "organizationId", d.serial, d.name, d.model, d.tags, d.status,
  d.last_seen_at AS "lastSeenAt", d.firmware,
  CASE WHEN d.config_profile_id IS NOT NULL AND d.config_profile_version IS NOT NULL
    THEN json_build_object('id', d.config_profile_id, 'version', d.config_profile_version) END AS "configProfile",
  CASE WHEN d.last_lat IS NOT NULL AND d.last_lon IS NOT NULL AND d.last_fix_at IS NOT NULL
    THEN json_build_object('lat', d.last_lat, 'lon', d.last_lon,
      'ts', to_char(d.last_fix_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END AS location,
  d.created_at AS "createdAt", d.updated_at AS "updatedAt"`

/** The columns of a `Device` named `d`. A statement that sorts or filters many devices selects them for its page only. */
export const deviceColumns = `${columnsWithoutNotes}, d.notes`

/** A device with the number of its last change, which telemetry does not count. */
export type DeviceRevision = Device & { revision: string }

/** The columns of a `DeviceRevision` named `d`. */
export const revisionColumns = `${deviceColumns}, d.revision`

/** Input of a verb that changes a device. `precondition` receives the device before the change and may throw 412. */
export type ConditionalChange = { deviceId: string; precondition: (current: DeviceRevision) => void }

/** A device with its entity tag. */
export type TaggedDevice = { device: Device; tag: string }

/**
 * Adds the entity tag `"<revision>-<digest>"`. Every report changes the digest, so `If-Match` compares only the revision:
 * an update must not fail because the device reported in the meantime.
 */
export function tagDevice({ revision, ...device }: DeviceRevision): TaggedDevice {
  const digest = createHash('sha256').update(JSON.stringify(device)).digest('base64url').slice(0, 12)
  return { device, tag: `"${revision}-${digest}"` }
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
): Promise<DeviceRevision> {
  const device = await findVisibleDevice(ctx, db, deviceId, lock)
  authorize(ctx.principal, device.organizationId, scope)
  return device
}

/** Like `findDevice`, for a caller with any scope in the organization. The verb must check its own scope. */
export async function findVisibleDevice(
  ctx: Pick<FleetContext, 'principal'>,
  db: Queryable,
  deviceId: string,
  lock = false,
): Promise<DeviceRevision> {
  const [device] = await queryEntities<DeviceRevision>(
    db,
    `SELECT ${revisionColumns} FROM device d
      WHERE d.id = $id AND ($organizations::uuid[] IS NULL OR d.organization_id = ANY($organizations))${lock ? ' FOR UPDATE' : ''}`,
    { id: isUuid(deviceId) ? deviceId : null, organizations: visibleOrganizations(ctx.principal) },
  )
  if (!device) throw notFound('device', deviceId)
  return device
}

/**
 * Runs `work` with a device that was found, and locks it. For a verb that changes the device. Throws 402, 404 if it is gone
 * meanwhile, and 403.
 */
export const changeDevice = <Result>(
  ctx: FleetContext,
  { id, organizationId }: Device,
  scope: Scope,
  work: (connection: Connection, device: DeviceRevision) => Promise<Result>,
): Promise<Result> =>
  tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    return work(connection, await findDevice(ctx, connection, id, scope, true))
  })
