import { hash } from 'node:crypto'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { parseToken } from '#core/tokens'
import { bearerToken, deviceTokenMissing, deviceTokenRefused } from '#http/device-credentials'
import type { Queryable } from '#postgres/pool'
import { coalesce } from '#queue/coalesce'
import { type DeviceGrant, findGrants } from './device-grants.ts'

export type DeviceAccess = {
  /** The grant of an `Authorization` header: at once when the token is known, else after asking. Throws 401 or 503. */
  authenticate(authorization: string | undefined): DeviceGrant | Promise<DeviceGrant>
  /** What a grant has become since it was given; undefined when its token is revoked or has expired. */
  current(grant: DeviceGrant): DeviceGrant | undefined
  /** Asks again about the known tokens of these devices and organizations, or about all; looks at every known token. */
  refresh(subjects?: readonly AccessSubject[]): Promise<void>
}

export type AccessSubject = { deviceId: string } | { organizationId: string }

const unknownLifetimeMs = 2_000
const maxUnknown = 50_000
const refreshBatch = 5_000
// A thousand routers that come back at once are a few queries.
const lookedUpTogether = 500

/**
 * Device tokens kept in memory, so that accepting a report waits for nobody and goes on while Postgres is away. What is
 * known stays known until `refresh` finds it changed; callers refresh on every notice, and on every doubt about notices.
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
      throw new ServiceError(503, 'unavailable', 'Device tokens cannot be checked right now. Try again shortly.', {
        headers: { 'Retry-After': '2' },
      })
    })
    if (found) {
      grants.set(found.tokenHash, found)
      // What was read may be older than what a notice told meanwhile, when this token was not known yet.
      if (refreshes !== refreshesBefore) void askAgain(tokenHash).catch(() => {})
      return found
    }
    if (unknownUntilMs.size >= maxUnknown) unknownUntilMs.clear()
    unknownUntilMs.set(tokenHash, clock() + unknownLifetimeMs)
    throw deviceTokenRefused()
  }

  /** Only this token, together with others: thousands may come at once while notices do, and a refresh looks at all. */
  async function askAgain(tokenHash: string): Promise<void> {
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
    const meant = subjects && new Set(subjects.map(idOf))
    const concerned: string[] = []
    for (const [tokenHash, { deviceId, organizationId }] of grants) {
      if (!meant || meant.has(deviceId) || meant.has(organizationId)) concerned.push(tokenHash)
    }
    for (let start = 0; start < concerned.length; start += refreshBatch) {
      const batch = concerned.slice(start, start + refreshBatch)
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
