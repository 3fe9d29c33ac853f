import { ServiceError } from '#core/errors'

/** What one device may send and has sent lately; kept for as long as the device is heard of. */
type Traffic = { tokens: number; refilledAtMs: number; window: number; windowBytes: number }

export type DeviceTraffic = {
  /** Counts one request. Throws 429 with `Retry-After` when the device is over its rate. */
  admit(deviceId: string, nowMs: number): void
  /**
   * Counts an admitted request as `more` further ones, `counted` being what it counts as so far. More than the device has
   * left is a debt, which delays its other requests. Throws 429 with `Retry-After`, and takes back what was counted, when
   * other requests have put the device into debt: those admitted together may turn out to be worth too much.
   */
  charge(deviceId: string, request: { counted: number; more: number }, nowMs: number): void
  /** Counts bytes taken on for the device. */
  count(deviceId: string, bytes: number, nowMs: number): void
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

  function refill(traffic: Traffic, nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - traffic.refilledAtMs)
    traffic.tokens = Math.min(limits.burst, traffic.tokens + elapsedMs * perMs)
    traffic.refilledAtMs = nowMs
  }

  function rateLimited(traffic: Traffic): ServiceError {
    const waitSeconds = Math.ceil((1 - traffic.tokens) / perMs / 1_000)
    return new ServiceError(429, 'rate_limited', `A device may send ${limits.requestsPerMinute} reports a minute.`, {
      headers: { 'Retry-After': String(waitSeconds) },
    })
  }

  return {
    admit(deviceId, nowMs) {
      const traffic = trafficOf(deviceId, nowMs)
      refill(traffic, nowMs)
      if (traffic.tokens < 1) throw rateLimited(traffic)
      traffic.tokens -= 1
    },
    charge(deviceId, { counted, more }, nowMs) {
      const traffic = trafficOf(deviceId, nowMs)
      refill(traffic, nowMs)
      // Without what this request counts as beyond its first: it must not be refused for its own size.
      if (traffic.tokens + counted - 1 < 0) {
        const error = rateLimited(traffic)
        traffic.tokens += counted
        throw error
      }
      traffic.tokens -= more
    },
    count(deviceId, bytes, nowMs) {
      const traffic = trafficOf(deviceId, nowMs)
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
