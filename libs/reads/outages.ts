import { isoTime } from '#core/iso-time'
import type { Near, Towns } from '#core/near'
import type { FleetContext } from '#fleet/context'
import type { WindowQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { modemTimes } from '#questdb/device/outages'
import { timesWithoutService } from '#telemetry/coverage/service-times'
import { openWindow, type ReadWindow, readableRanges } from './history.ts'

type OutagesQuery = WindowQuery & { modem?: string | undefined }

type Time = { from: string; to: string; durationS: number }
type Outage = Time & { modem: string | null; location: { lat: number; lon: number } | null; near: Near | null }

const defaultMinutes = 1_440

/** Most times of each list that are returned: the newest. */
const maxOutages = 1_000

/**
 * When the modems of a device had no service and near which town that began, and when none of all its modems had service, newest first,
 * in the part of the window that the caller can read. Throws 404, 403 and 400.
 */
export async function readOutages(
  ctx: FleetContext,
  reader: Reader,
  towns: Towns,
  deviceId: string,
  query: OutagesQuery,
): Promise<{ deviceId: string; window: ReadWindow; items: Outage[]; ofDevice: Time[] }> {
  const nowMs = ctx.clock()
  const { device, window } = await openWindow(ctx, deviceId, query, { nowMs, defaultMinutes })
  const { fromMs, times } = await modemTimes(reader.questdb, device.deviceId, readableRanges(device, window, nowMs))
  const outages = times
    .filter(({ hasService, modem }) => !hasService && (query.modem === undefined || modem === query.modem))
    .sort((a, b) => b.fromMs - a.fromMs || ((a.modem ?? '') < (b.modem ?? '') ? -1 : 1))
    .slice(0, maxOutages)
  const located = outages.map(({ lat, lon }) => (lat === null || lon === null ? null : { lat, lon }))
  const known = located.flatMap((location) => location ?? [])
  const nearOf = new Map((await towns.near(known)).map((near, index) => [known[index], near]))
  const items = outages.map((outage, index): Outage => {
    const location = located[index] ?? null
    return { modem: outage.modem, ...timeOf(outage), location, near: (location && nearOf.get(location)) ?? null }
  })
  const ofDevice = timesWithoutService(times)
    .filter((time) => time.fromMs >= fromMs)
    .slice(0, maxOutages)
    .map(timeOf)
  return { deviceId: device.deviceId, window, items, ofDevice }
}

const timeOf = ({ fromMs, toMs }: { fromMs: number; toMs: number }): Time => ({
  ...{ from: isoTime(fromMs), to: isoTime(toMs), durationS: Math.round((toMs - fromMs) / 1_000) },
})
