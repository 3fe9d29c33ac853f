import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { gatewayDeviceHeader } from '#device-edge/gateway'
import { requireDeviceToken } from '#http/device-credentials'
import type { DeviceEdge } from './proxy.ts'

export type DeviceAdmission = {
  /**
   * Checks a router's token, given as an `Authorization` header, before the body is read: first its format, then with the
   * device edge. Returns the token's digest, or the device edge's error response. Throws 401, and 503 if the device edge is
   * unavailable.
   */
  admit(c: Context, requestId: string, authorization: string | undefined): Promise<{ tokenDigest: string } | Response>
  /** Removes a token that the device edge has rejected from the cache. */
  forget(tokenDigest: string): void
}

const knownForMs = 10 * 60_000
const maxKnown = 200_000
/** The cache reads the clock at most this often. Its default of 1 ms starts a timer for almost every report. */
const clockEveryMs = 1_000

/**
 * Caches valid tokens, so that the device edge checks the token of each router once in ten minutes. This is no security
 * boundary: the device edge checks the token of every forwarded request.
 */
export function createDeviceAdmission(deviceEdge: Pick<DeviceEdge, 'checkToken'>): DeviceAdmission {
  const known = new LRUCache<string, true>({ max: maxKnown, ttl: knownForMs, ttlResolution: clockEveryMs })
  return {
    async admit(c, requestId, authorization) {
      // A gateway names the device that it speaks for.
      const device = c.req.header(gatewayDeviceHeader)
      const token = requireDeviceToken(authorization, device !== undefined)
      const tokenDigest = hash('sha256', device === undefined ? token : `${token} ${device}`, 'base64')
      // Without a body, no memory is held, so the device edge's own check is sufficient.
      const hasBody = c.req.method !== 'GET' && c.req.method !== 'HEAD'
      if (!hasBody || known.has(tokenDigest)) return { tokenDigest }
      const { incoming } = c.env as { incoming: IncomingMessage }
      const refusal = await deviceEdge.checkToken(incoming, requestId, `Bearer ${token}`)
      if (refusal) return refusal
      known.set(tokenDigest, true)
      return { tokenDigest }
    },
    forget: (tokenDigest) => void known.delete(tokenDigest),
  }
}
