import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { requireDeviceToken } from '#http/device-credentials'
import type { DeviceEdge } from './proxy.ts'

export type DeviceAdmission = {
  /**
   * Checks a router's token before its body is read: by its form, then whether the device edge knows it. Returns the
   * token's digest, or the device edge's own refusal. Throws 401, and 503 when the device edge cannot be asked.
   */
  admit(c: Context, requestId: string): Promise<{ tokenDigest: string } | Response>
  /** Forgets a token that the device edge has refused. */
  forget(tokenDigest: string): void
}

const knownForMs = 10 * 60_000
const maxKnown = 200_000

/**
 * Remembers tokens that the device edge has accepted, so that it is asked once in ten minutes for each router. Nothing is
 * granted by that: the device edge checks the token of every request that is passed on.
 */
export function createDeviceAdmission(deviceEdge: Pick<DeviceEdge, 'checkToken'>): DeviceAdmission {
  const known = new LRUCache<string, true>({ max: maxKnown, ttl: knownForMs })
  return {
    async admit(c, requestId) {
      const token = requireDeviceToken(c.req.header('authorization'))
      const tokenDigest = hash('sha256', token, 'base64')
      // Without a body there is nothing to hold: the device edge answers as quickly itself.
      const hasBody = c.req.method !== 'GET' && c.req.method !== 'HEAD'
      if (!hasBody || known.has(tokenDigest)) return { tokenDigest }
      const { incoming } = c.env as { incoming: IncomingMessage }
      const refusal = await deviceEdge.checkToken(incoming, requestId)
      if (refusal) return refusal
      known.set(tokenDigest, true)
      return { tokenDigest }
    },
    forget: (tokenDigest) => void known.delete(tokenDigest),
  }
}
