import { ServiceError } from '#core/errors'

/** What one device may send and has sent lately; kept for as long as the device is heard of. */
type Traffic = { tokens: number; refilledAtMs: number; window: number; windowBytes: number }

export type DeviceTraffic = {
  /** Counts one request. Throws 429 with `Retry-After` when the device is over its rate. */
  admit(deviceId: string, nowMs: number): void
  /** Counts bytes taken on for the device with a request that turned out to be worth several. */
  count(deviceId: string, bytes: number, requests: number, nowMs: number): void
  /** True when the device has sent more in this minute than the mean device did in the last one. */
  isOverFairShare(deviceId: string, nowMs: number): boolean
}

const windowMs = 60_000

/** Token buckets per device, and how much each sends compared with the others. */
export function createDeviceTraffic(limits: { requestsPerMinute: number; burst: number }): DeviceTraffic {
  const devices = new Map<string, Traffic>()
  const perMs = limits.requestsPerMinute / 60_000
  let window = 0
  let current = { devices: 0, bytes: 0 }
  let fairBytes = Number.POSITIVE_INFINITY

  function advance(nowMs: number): void {
    const now = Math.floor(nowMs / windowMs)
    if (now === window) return
    fairBytes = now === window + 1 && current.devices > 0 ? current.bytes / current.devices : Number.POSITIVE_INFINITY
    window = now
    current = { devices: 0, bytes: 0 }
    // A full bucket is what an unknown device starts with, so the quiet ones need not be kept.
    for (const [deviceId, traffic] of devices) {
      const tokens = traffic.tokens + (nowMs - traffic.refilledAtMs) * perMs
      if (tokens >= limits.burst && traffic.window < window - 1) devices.delete(deviceId)
    }
  }

  function trafficOf(deviceId: string, nowMs: number): Traffic {
    advance(nowMs)
    let traffic = devices.get(deviceId)
    if (!traffic) {
      traffic = { tokens: limits.burst, refilledAtMs: nowMs, window: -1, windowBytes: 0 }
      devices.set(deviceId, traffic)
    }
    return traffic
  }

  return {
    admit(deviceId, nowMs) {
      const traffic = trafficOf(deviceId, nowMs)
      const elapsedMs = Math.max(0, nowMs - traffic.refilledAtMs)
      traffic.tokens = Math.min(limits.burst, traffic.tokens + elapsedMs * perMs)
      traffic.refilledAtMs = nowMs
      if (traffic.tokens >= 1) {
        traffic.tokens -= 1
        return
      }
      const waitSeconds = Math.ceil((1 - traffic.tokens) / perMs / 1_000)
      throw new ServiceError(429, 'rate_limited', `A device may send ${limits.requestsPerMinute} reports a minute.`, {
        headers: { 'Retry-After': String(waitSeconds) },
      })
    },
    count(deviceId, bytes, requests, nowMs) {
      const traffic = trafficOf(deviceId, nowMs)
      // One was taken at admission; more than there are is a debt, which delays the next request.
      traffic.tokens -= requests - 1
      if (traffic.window !== window) {
        traffic.window = window
        traffic.windowBytes = 0
        current.devices += 1
      }
      traffic.windowBytes += bytes
      current.bytes += bytes
    },
    isOverFairShare(deviceId, nowMs) {
      const traffic = trafficOf(deviceId, nowMs)
      return traffic.window === window && traffic.windowBytes > fairBytes
    },
  }
}
