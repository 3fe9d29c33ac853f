import { ServiceError } from '#core/errors'
import { devicePolicy } from '#device-edge/device-rate'
import { rateLimitHeaders } from '#http/rate-limit'

/** The rate limit and recent traffic of a device. Kept while the device sends requests. */
type Traffic = { tokens: number; refilledAtMs: number; window: number; windowBytes: number }

export type DeviceTraffic = {
  /** Counts one request. Throws 429 if the device is over its rate. */
  admit(deviceId: string, nowMs: number): void
  /**
   * Charges an admitted request as `more` further requests. `counted` is its charge so far. A charge above the device's
   * remaining rate becomes a debt, which delays its other requests. If other requests have put the device into debt, throws
   * 429 and refunds this request: requests that were admitted together can cost more than the rate allows.
   */
  charge(deviceId: string, request: { counted: number; more: number }, nowMs: number): void
  /** Counts accepted bytes of the device. */
  count(deviceId: string, bytes: number, nowMs: number): void
  /** Returns whether the device has sent more in this minute than the average device in the previous minute. */
  isOverFairShare(deviceId: string, nowMs: number): boolean
}

const windowMs = 60_000

/** Creates a token bucket per device, and compares the traffic of each device with the average. */
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
    // A new device starts with a full bucket, so devices with a full bucket need not be kept.
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
    // A charge has the time of its admission, which may be before the last refill.
    traffic.refilledAtMs = Math.max(traffic.refilledAtMs, nowMs)
  }

  function rateLimited(traffic: Traffic): ServiceError {
    const waitSeconds = Math.ceil((1 - traffic.tokens) / perMs / 1_000)
    const { requestsPerMinute } = limits
    const state = { perMinute: requestsPerMinute, remaining: 0, resetSeconds: waitSeconds }
    return new ServiceError(429, 'rate_limited', `A device may send ${requestsPerMinute} reports a minute.`, {
      headers: { 'Retry-After': String(waitSeconds), ...rateLimitHeaders(state, devicePolicy) },
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
      // Ignore the charge of this request beyond the first: its own size must not reject it.
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
