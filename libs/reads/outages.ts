import { isoTime } from '#core/iso-time'
import type { Near, Towns } from '#core/near'
import type { FleetContext } from '#fleet/context'
import type { WindowQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { modemOutages } from '#questdb/device/outages'
import { openWindow, type ReadWindow, readableRanges } from './history.ts'

type OutagesQuery = WindowQuery & { modem?: string | undefined }

type Outage = {
  modem: string | null
  from: string
  to: string
  durationS: number
  location: { lat: number; lon: number } | null
  near: Near | null
}

const defaultMinutes = 1_440

/**
 * When the modems of a device had no service and near which town that began, newest first, in the part of the window that the
 * caller can read. Throws 404, 403 and 400.
 */
export async function readOutages(
  ctx: FleetContext,
  reader: Reader,
  towns: Towns,
  deviceId: string,
  query: OutagesQuery,
): Promise<{ deviceId: string; window: ReadWindow; items: Outage[] }> {
  const nowMs = ctx.clock()
  const { device, window } = await openWindow(ctx, deviceId, query, { nowMs, defaultMinutes })
  const ranges = readableRanges(device, window, nowMs)
  const outages = await modemOutages(reader.questdb, device.deviceId, ranges, query.modem)
  const located = outages.map(({ lat, lon }) => (lat === null || lon === null ? null : { lat, lon }))
  const known = located.flatMap((location) => location ?? [])
  const nearOf = new Map((await towns.near(known)).map((near, index) => [known[index], near]))
  const items = outages.map(({ modem, fromMs, toMs }, index): Outage => {
    const location = located[index] ?? null
    return {
      ...{ modem, from: isoTime(fromMs), to: isoTime(toMs), durationS: Math.round((toMs - fromMs) / 1_000) },
      ...{ location, near: (location && nearOf.get(location)) ?? null },
    }
  })
  return { deviceId: device.deviceId, window, items }
}
