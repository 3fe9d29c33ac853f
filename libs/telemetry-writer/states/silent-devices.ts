import type { DeviceClass } from '#telemetry/position/dwell'
import type { LogPosition, TelemetryLogReader } from '#telemetry-log/log'
import type { DeviceStates } from './device-states.ts'

export type SilentDevices = {
  /** Loads the next devices; does nothing once all are loaded. */
  loadSome(): Promise<void>
}

const chunkBytes = 2 * 1024 ** 2
/** Reports that arrive meanwhile wait for these devices. Fewer cost more statements for each device. */
const loadAtOnce = 256

/**
 * Loads devices that reported shortly before a restart and may not report again, so that their open dwells are closed like
 * those of every quiet device. `earlier` reads the reports before `endPosition`.
 */
export function createSilentDevices(
  earlier: TelemetryLogReader,
  endPosition: LogPosition,
  states: DeviceStates,
): SilentDevices {
  const devices = new Map<string, DeviceClass>()
  let isRead = false
  return {
    async loadSome() {
      if (!isRead) {
        const batches = earlier.read(endPosition, chunkBytes)
        for (const { deviceId, deviceClass } of batches) devices.set(deviceId, deviceClass)
        isRead = batches.length === 0 && !earlier.isLoading(endPosition)
        if (isRead) earlier.close()
        return
      }
      const some = new Map<string, DeviceClass>()
      for (const [deviceId, deviceClass] of devices) {
        if (some.size === loadAtOnce) break
        if (states.has(deviceId)) devices.delete(deviceId)
        else some.set(deviceId, deviceClass)
      }
      if (some.size === 0) return
      await states.load(some, Date.now())
      for (const deviceId of some.keys()) devices.delete(deviceId)
    },
  }
}
