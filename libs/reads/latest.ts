import type { FleetContext } from '#fleet/context'
import { readableTelemetry } from '#fleet/devices/telemetry-access'
import { clockAheadMs } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { latestSamples } from '#questdb/device/latest'
import { type ModemSamples, modemSamples, namesModems } from '#questdb/device/modems'
import type { StoredSample, TelemetryRecord } from '#questdb/device/records'
import type { Kind } from '#telemetry/report/fields'
import { visibleRecord } from './history.ts'

type LatestRecord = Omit<TelemetryRecord, 'kind'> & { ts: string; ageMs: number; receivedAt: string }

type LatestModem = {
  modem: string | null
  isActive: boolean
  cellular: LatestRecord | null
  connection: LatestRecord | null
}

/** `cellular` and `connection` are those of the active modem. */
export type LatestTelemetry = { deviceId: string; asOf: string; modems: LatestModem[] } & Record<
  Kind,
  LatestRecord | null
>

// The maximum delay between storing a report and updating the registry.
const registryLagMs = 60_000

/** The newest sample of each kind, null for kinds the device never reported, and of each modem. Throws 404 and 403. */
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
  const [found, isNaming] = await Promise.all([
    latestSamples(reader.questdb, device.deviceId, ranges, newestMs),
    namesModems(reader.questdb, device.deviceId, ranges, { nowMs, newestMs }),
  ])
  const modems = isNaming
    ? await modemSamples(reader.questdb, device.deviceId, ranges, { nowMs, newestMs })
    : onlyModem(found, nowMs - dayMs)
  const active = modems.find(({ isActive }) => isActive)
  const shown = (sample: StoredSample | null): LatestRecord | null => {
    if (!sample) return null
    const { kind: _kind, ts, ...fields } = visibleRecord(device, sample)
    return { ts, ageMs: nowMs - sample.tsMs, receivedAt: new Date(sample.receivedAtMs).toISOString(), ...fields }
  }
  return {
    deviceId: device.deviceId,
    asOf: new Date(nowMs).toISOString(),
    connection: shown(ofActive(active, found, 'connection')),
    cellular: shown(ofActive(active, found, 'cellular')),
    system: shown(found.system),
    location: shown(found.location),
    modems: modems.map(({ modem, isActive, cellular, connection }) => ({
      ...{ modem, isActive, cellular: shown(cellular), connection: shown(connection) },
    })),
  }
}

const dayMs = 86_400_000

type Newest = Record<Kind, StoredSample | null>

/** The modem of a device that does not name it, if it reported since then: it has the newest samples. */
function onlyModem({ cellular, connection }: Newest, sinceMs: number): ModemSamples[] {
  const recent = (sample: StoredSample | null) => (sample && sample.tsMs >= sinceMs ? sample : null)
  const own = { cellular: recent(cellular), connection: recent(connection) }
  return own.cellular || own.connection ? [{ modem: null, isActive: true, ...own }] : []
}

/** The sample of the active modem, or the newest of a router that does not say of which modem it is. */
function ofActive(
  active: ModemSamples | undefined,
  newest: Newest,
  kind: 'cellular' | 'connection',
): StoredSample | null {
  const ofModem = active?.[kind]
  if (ofModem) return ofModem
  const sample = newest[kind]
  return !active || sample?.record.modem === null || sample?.record.modem === active.modem ? sample : null
}
