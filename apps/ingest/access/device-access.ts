import { hash } from 'node:crypto'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { parseToken } from '#core/tokens'
import { bearerToken, deviceTokenMissing, deviceTokenRefused } from '#http/device-credentials'
import type { Queryable } from '#postgres/pool'
import { coalesce } from '#queue/coalesce'
import { type DeviceGrant, findGrants } from './device-grants.ts'

export type DeviceAccess = {
  /** Returns the grant of an `Authorization` header: at once if it is cached, otherwise after a query. Throws 401 or 503. */
  authenticate(authorization: string | undefined): DeviceGrant | Promise<DeviceGrant>
  /** Returns the current version of a grant. Undefined if its token was revoked or has expired. */
  current(grant: DeviceGrant): DeviceGrant | undefined
  /** Reloads the cached grants of these devices and organizations, or all. Visits every cached grant. */
  refresh(subjects?: readonly AccessSubject[]): Promise<void>
}

export type AccessSubject = { deviceId: string } | { organizationId: string }

const unknownLifetimeMs = 2_000
const maxUnknown = 50_000
const refreshBatch = 5_000
// A thousand routers that reconnect at once take a few queries.
const lookedUpTogether = 500

/**
 * Caches device tokens in memory, so that reports are accepted without a query and while Postgres is unavailable. A grant
 * is cached until `refresh` finds a change. Callers refresh on every notice, and whenever notices may have been lost.
 */
export function createDeviceAccess({ db, clock }: { db: Queryable; clock: Clock }): DeviceAccess {
  const grants = new Map<string, DeviceGrant>()
  const unknownUntilMs = new Map<string, number>()
  const lookups = new Map<string, Promise<DeviceGrant>>()
  let refreshes = 0

  const find = coalesce(async (tokenHashes: readonly string[]) => {
    const found = new Map((await findGrants(db, tokenHashes)).map((grant) => [grant.tokenHash, grant]))
    return (tokenHash: string) => found.get(tokenHash)
  }, lookedUpTogether)

  async function lookUp(tokenHash: string): Promise<DeviceGrant> {
    const refreshesBefore = refreshes
    const found = await find(tokenHash).catch(() => {
      throw new ServiceError(503, 'unavailable', 'Device tokens cannot be checked. Retry later.', {
        headers: { 'Retry-After': '2' },
      })
    })
    if (found) {
      grants.set(found.tokenHash, found)
      // A notice may have announced a newer state during the query, before this token was cached.
      if (refreshes !== refreshesBefore) void reload(tokenHash).catch(() => {})
      return found
    }
    if (unknownUntilMs.size >= maxUnknown) unknownUntilMs.clear()
    unknownUntilMs.set(tokenHash, clock() + unknownLifetimeMs)
    throw deviceTokenRefused()
  }

  /** Reloads this token only, in a batch with others. A refresh would visit all tokens for each of thousands. */
  async function reload(tokenHash: string): Promise<void> {
    let refreshesBefore: number
    let found: DeviceGrant | undefined
    do {
      refreshesBefore = refreshes
      found = await find(tokenHash)
    } while (refreshes !== refreshesBefore)
    if (found) grants.set(tokenHash, found)
    else grants.delete(tokenHash)
  }

  function authenticate(authorization: string | undefined): DeviceGrant | Promise<DeviceGrant> {
    const token = bearerToken(authorization)
    if (token === undefined) throw deviceTokenMissing()
    const tokenHash = hash('sha256', token, 'base64')
    const known = grants.get(tokenHash)
    if (known) {
      if (known.expiresAtMs > clock()) return known
      grants.delete(tokenHash)
    }
    if (parseToken(token)?.prefix !== 'fld' || (unknownUntilMs.get(tokenHash) ?? 0) > clock()) {
      throw deviceTokenRefused()
    }
    const pending = lookups.get(tokenHash)
    if (pending) return pending
    const lookup = lookUp(tokenHash).finally(() => lookups.delete(tokenHash))
    lookups.set(tokenHash, lookup)
    return lookup
  }

  function current({ tokenHash }: DeviceGrant): DeviceGrant | undefined {
    const known = grants.get(tokenHash)
    return known && known.expiresAtMs > clock() ? known : undefined
  }

  async function refresh(subjects?: readonly AccessSubject[]): Promise<void> {
    refreshes += 1
    const ids = subjects && new Set(subjects.map(idOf))
    const affected: string[] = []
    for (const [tokenHash, { deviceId, organizationId }] of grants) {
      if (!ids || ids.has(deviceId) || ids.has(organizationId)) affected.push(tokenHash)
    }
    for (let start = 0; start < affected.length; start += refreshBatch) {
      const batch = affected.slice(start, start + refreshBatch)
      const found = new Map((await findGrants(db, batch)).map((grant) => [grant.tokenHash, grant]))
      for (const tokenHash of batch) {
        const grant = found.get(tokenHash)
        if (grant) grants.set(tokenHash, grant)
        else grants.delete(tokenHash)
      }
    }
  }

  return { authenticate, current, refresh }
}

const idOf = (subject: AccessSubject) => ('deviceId' in subject ? subject.deviceId : subject.organizationId)
