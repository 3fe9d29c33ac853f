import { z } from 'zod'
import { badRequest, ServiceError } from '#core/errors'
import { uuid } from '#core/schemas'
import { authorize } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { deleteDevice } from '#fleet/devices/delete'
import { requireDevices } from '#fleet/devices/require-devices'
import { type DeviceSelection, selectionSql } from '#fleet/devices/retag'
import { transferDevice } from '#fleet/devices/transfer'
import { updateDevice } from '#fleet/devices/update'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { inOrganization } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import { boundPool, transaction, undone } from '#postgres/pool'

/** A change of one device is a transaction with its own events, so that a request changes at most so many. */
export const maxChangedDevices = 1_000
/** A trial locks the devices until it is undone. Reports of them wait meanwhile. */
const triedTogether = 50
const maxNamed = 10

const namedDevice = z.object({ deviceId: uuid(), name: z.string() })

export const bulkChangeSchema = z
  .object({
    matched: z.int().describe('Number of selected devices.'),
    changed: z.int(),
    devices: z.array(namedDevice).describe('The first 10 changed devices, by name.'),
    skipped: z
      .array(namedDevice.extend({ reason: z.string().describe('The code of the error.'), detail: z.string() }))
      .describe('The devices that did not change, by name.'),
  })
  .meta({ id: 'BulkChange' })

type BulkChange = z.infer<typeof bulkChangeSchema>

type Named = { id: string; name: string; status: string }
type Bulk = { organizationId: string; devices: DeviceSelection; dryRun: boolean }
type Terms = { scope: Scope; needsSubscription: boolean }
type ChangeOne = (ctx: FleetContext, device: Named) => Promise<unknown>

const anyRevision = () => undefined

/**
 * Disables or enables devices (`device:update`). Returns which ones did not change and why; with `dryRun`, changes nothing. Throws 404
 * that names an unknown device or place, 402, and 400 for more than 1,000 devices.
 */
export const switchDevices = (ctx: FleetContext, { disabled, ...bulk }: Bulk & { disabled: boolean }) =>
  changeEach(ctx, bulk, { scope: 'device:update', needsSubscription: true }, async (inner, { id, status }) => {
    if ((status === 'disabled') === disabled)
      throw new ServiceError(409, 'unchanged', `The device is already ${disabled ? 'disabled' : 'enabled'}.`)
    const change = { status: disabled ? ('disabled' as const) : ('provisioning' as const) }
    await updateDevice(inner, { deviceId: id, change, precondition: anyRevision })
  })

/** Transfers devices, as `transferDevice` does (`device:transfer` in both organizations), and otherwise like `switchDevices`. */
export const transferDevices = (
  ctx: FleetContext,
  { toOrgId, reason, ...bulk }: Bulk & { toOrgId: string; reason?: string | undefined },
) =>
  changeEach(ctx, bulk, { scope: 'device:transfer', needsSubscription: true }, (inner, { id }) =>
    transferDevice(inner, { deviceId: id, toOrgId, reason, precondition: anyRevision }),
  )

/**
 * Deletes devices and their history, as `deleteDevice` does (`device:delete`), also without an active subscription. Otherwise like
 * `switchDevices`.
 */
export const deleteDevices = (ctx: FleetContext, bulk: Bulk) =>
  changeEach(ctx, bulk, { scope: 'device:delete', needsSubscription: false }, (inner, { id }) =>
    deleteDevice(inner, { deviceId: id, precondition: anyRevision }),
  )

async function changeEach(
  ctx: FleetContext,
  { organizationId, devices, dryRun }: Bulk,
  terms: Terms,
  changeOne: ChangeOne,
): Promise<BulkChange> {
  const selected = await selectedDevices(ctx, organizationId, devices, terms)
  const report: BulkChange = { matched: selected.length, changed: 0, devices: [], skipped: [] }
  const attempt = async (inner: FleetContext, device: Named) => {
    const named = { deviceId: device.id, name: device.name }
    try {
      await changeOne(inner, device)
      report.changed += 1
      if (report.devices.length < maxNamed) report.devices.push(named)
    } catch (error) {
      if (!isOfDevice(error)) throw error
      report.skipped.push({ ...named, reason: error.code, detail: error.message })
    }
  }
  if (!dryRun) for (const device of selected) await attempt(ctx, device)
  else
    for (let start = 0; start < selected.length; start += triedTogether)
      await transaction(ctx.pool, (connection) =>
        undone(connection, async () => {
          const inner = { ...ctx, pool: boundPool(connection) }
          for (const device of selected.slice(start, start + triedTogether)) await attempt(inner, device)
        }),
      )
  return report
}

/** Errors of one device. Others, such as a missing scope, would be the same for all devices. */
const isOfDevice = (error: unknown): error is ServiceError =>
  error instanceof ServiceError &&
  (error.status === 409 || error.code === 'not_found' || error.code === 'device_quota_exceeded')

/** The selected devices by name. Throws like `switchDevices`. */
async function selectedDevices(
  ctx: FleetContext,
  organizationId: string,
  devices: DeviceSelection,
  { scope, needsSubscription }: Terms,
): Promise<Named[]> {
  authorize(ctx.principal, organizationId, scope)
  return inOrganization(ctx, { scope, organizationId }, async (connection) => {
    if (needsSubscription) await requireActiveSubscription(ctx, connection, organizationId)
    if ('deviceIds' in devices) await requireDevices(connection, organizationId, devices.deviceIds)
    const { condition, values } = await selectionSql(ctx, connection, organizationId, devices)
    const found = await queryEntities<Named>(
      connection,
      `SELECT d.id, d.name, d.status FROM device d WHERE ${condition}
       ORDER BY lower(d.name) COLLATE "C", d.id LIMIT ${maxChangedDevices + 1}`,
      values,
    )
    if (found.length > maxChangedDevices) {
      const detail = `A request can change at most ${maxChangedDevices} devices. Narrow the filter.`
      throw badRequest(detail, [{ pointer: '/filter', code: 'too_many_devices', detail }], 'too_many_devices')
    }
    return found
  })
}
