import { ServiceError } from '#core/errors'
import { isoTime } from '#core/iso-time'
import type { Near, Towns } from '#core/near'
import { authorize, holds, organizationsWith } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import type { Device } from '#fleet/devices/device'
import { type MappedOrganization, mappedOrganizations } from '#fleet-map/access'
import type { DataUseTotals, DeviceDataUse, Totals } from '#fleet-map/device-list/data-use-totals'
import { liveMinutes } from '#fleet-map/device-list/live-selection'
import { modemsSince } from '#fleet-map/device-list/live-values'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { shownSignal } from '#fleet-map/selection/filter'
import { planWindows } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'

/** What a device list can show beside the registry. */
export const listParts = ['signal', 'near', 'dataUse'] as const
export type ListPart = (typeof listParts)[number]

type ListedSignal = {
  ts: string
  modem: string | null
  rat: string | null
  plmn: string | null
  operatorName: string | null
  rsrpDbm: number | null
  sinrDb: number | null
  quality: string | null
}

/**
 * `signal` is that of the active modem; null without one in the last 24 hours, like `modems` in organizations that the caller cannot read.
 * `dataUse` is null in organizations without `telemetry:read`, and until the worker has measured the day.
 */
type ListDetails = {
  signal?: ListedSignal | null
  modems?: { count: number; withoutService: number } | null
  near?: Near | null
  dataUse?: ListedDataUse | null
}
type ListedDataUse = DeviceDataUse & { measuredAt: string }
export type ListedDevice = Device & ListDetails

type ListSources = { live: LiveMaps; towns: Towns; dataUse: DataUseTotals }
type ListRequest = { orgId?: string | undefined; include?: readonly ListPart[] | undefined }

/**
 * Returns a function that adds the asked parts to pages of a device list. `signal` also adds `modems`. Throws 403 and 404 for `signal`
 * without `fleet:read` and for `dataUse` without `telemetry:read`. The list of an organization without the fleet map in its plan has no signals.
 */
export async function openListDetails(
  ctx: FleetContext,
  fleet: ListSources,
  reader: Reader,
  { orgId, include = [] }: ListRequest,
): Promise<(devices: readonly Device[]) => Promise<ListedDevice[]>> {
  const withSignal = include.includes('signal')
  const mapped = withSignal ? await mappedOrganizations(ctx, orgId, ['fleetGps']).catch(ifNotInPlan) : []
  const withDataUse = include.includes('dataUse')
  if (withDataUse && orgId !== undefined) authorize(ctx.principal, orgId, 'telemetry:read')
  if (withDataUse) organizationsWith(ctx.principal, 'telemetry:read')
  return async (devices) => {
    const shown = new Set(devices.map(({ organizationId }) => organizationId))
    const { organizations } = planWindows(
      mapped.filter(({ organizationId }) => shown.has(organizationId)),
      liveMinutes,
    )
    const maps = new Map<string, { map: OrganizationMap; fromMs: number }>()
    for (const { organizationId, windowMs } of organizations) {
      const fromMs = ctx.clock() - windowMs
      maps.set(organizationId, { map: await fleet.live.read(organizationId, fromMs, reader), fromMs })
    }
    const near = include.includes('near') ? await nearest(fleet.towns, devices) : undefined
    const measured = [...shown].filter((id) => withDataUse && holds(ctx.principal, id, 'telemetry:read'))
    const totals = new Map<string, Totals>()
    for (const id of measured) totals.set(id, await fleet.dataUse.read(id))
    return devices.map((device) => ({
      ...device,
      ...(withSignal ? radioOf(device, maps.get(device.organizationId)) : {}),
      ...(near ? { near: near.get(device.id) ?? null } : {}),
      ...(withDataUse ? { dataUse: dataUseOf(device, totals.get(device.organizationId)) } : {}),
    }))
  }
}

function ifNotInPlan(error: unknown): MappedOrganization[] {
  if (error instanceof ServiceError && error.code === 'plan_feature') return []
  throw error
}

function radioOf(
  { id }: Device,
  known: { map: OrganizationMap; fromMs: number } | undefined,
): Pick<ListDetails, 'signal' | 'modems'> {
  const state = known?.map.device(id)
  if (!known || !state) return { signal: null, modems: null }
  const signal = shownSignal(state, known.fromMs)
  return { signal: signal && listedSignal(signal), modems: modemsSince(state, known.fromMs) }
}

const listedSignal = ({ tsMs, modem, rat, plmn, operatorName, rsrpDbm, sinrDb, quality }: SignalOf): ListedSignal => ({
  ts: isoTime(tsMs),
  ...{ modem, rat, plmn, operatorName, rsrpDbm, sinrDb, quality },
})

function dataUseOf({ id }: Device, totals: Totals | undefined): ListedDataUse | null {
  if (!totals || totals.measuredAtMs === null) return null
  const { todayBytes, monthBytes } = totals.byDevice.get(id) ?? { todayBytes: null, monthBytes: null }
  return { todayBytes, monthBytes, measuredAt: isoTime(totals.measuredAtMs) }
}

type SignalOf = NonNullable<ReturnType<typeof shownSignal>>

/** The nearest town of each device with a position, by its id. */
async function nearest(towns: Towns, devices: readonly Device[]): Promise<Map<string, Near | null>> {
  const located = devices.flatMap(({ id, location }) => (location ? [{ id, ...location }] : []))
  const found = await towns.near(located)
  return new Map(located.map(({ id }, index) => [id, found[index] ?? null]))
}
