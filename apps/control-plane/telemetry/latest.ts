import type { FleetContext } from '#fleet/context'
import { readableTelemetry } from '#fleet/devices/telemetry-access'
import { clockAheadMs } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { latestSamples } from '#questdb/device/latest'
import type { TelemetryRecord } from '#questdb/device/records'
import type { Kind } from '#telemetry/report/fields'
import { visibleRecord } from './history.ts'

type LatestRecord = Omit<TelemetryRecord, 'kind'> & { ts: string; ageMs: number; receivedAt: string }

export type LatestTelemetry = { deviceId: string; asOf: string } & Record<Kind, LatestRecord | null>

// The maximum delay between storing a report and updating the registry.
const registryLagMs = 60_000

/** The newest sample of each kind, null for kinds the device never reported. Throws 404 and 403. */
export async function readLatest(ctx: FleetContext, reader: Reader, deviceId: string): Promise<LatestTelemetry> {
  const device = await readableTelemetry(ctx, { deviceId })
  const nowMs = ctx.clock()
  // Search backwards from the last report of an offline router, not from now.
  const silent = device.lastSeenMs !== null && device.lastSeenMs < nowMs - registryLagMs
  const newestMs = (silent && device.lastSeenMs !== null ? device.lastSeenMs + registryLagMs : nowMs) + clockAheadMs
  const ranges = device.intervals.map(({ organizationId, fromMs, toMs }) => ({
    organizationId,
    fromMs: fromMs ?? 0,
    toMs: toMs ?? Number.POSITIVE_INFINITY,
  }))
  const found = await latestSamples(reader.questdb, device.deviceId, ranges, newestMs)
  const shown = (kind: Kind): LatestRecord | null => {
    const sample = found[kind]
    if (!sample) return null
    const { kind: _kind, ts, ...fields } = visibleRecord(device, sample)
    return { ts, ageMs: nowMs - sample.tsMs, receivedAt: new Date(sample.receivedAtMs).toISOString(), ...fields }
  }
  return {
    deviceId: device.deviceId,
    asOf: new Date(nowMs).toISOString(),
    connection: shown('connection'),
    cellular: shown('cellular'),
    system: shown('system'),
    location: shown('location'),
  }
}
