import type { FleetContext } from '#fleet/context'
import type { WindowQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { countedBeforeMs, deviceDataUse, type InterfaceUse } from '#questdb/device/data-use'
import { openWindow, type ReadWindow, readableRanges } from './history.ts'

const defaultMinutes = 1_440

/** What the modems and interfaces of a device used in the part of the window that the caller can read. Throws 404, 403 and 400. */
export async function readDeviceDataUse(
  ctx: FleetContext,
  reader: Reader,
  deviceId: string,
  query: WindowQuery,
): Promise<{ deviceId: string; window: ReadWindow; items: InterfaceUse[] }> {
  const nowMs = ctx.clock()
  const { device, window } = await openWindow(ctx, deviceId, query, { nowMs, defaultMinutes })
  const ranges = readableRanges(device, { ...window, fromMs: window.fromMs - countedBeforeMs }, nowMs)
  const items = await deviceDataUse(reader.questdb, device.deviceId, ranges, window)
  return { deviceId: device.deviceId, window, items }
}
