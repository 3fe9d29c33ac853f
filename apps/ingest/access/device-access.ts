import { hash } from 'node:crypto'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { createSharedWords } from '#core/shared-words'
import { parseToken } from '#core/tokens'
import { parseIdentityHeader } from '#device-edge/gateway'
import type { Plans } from '#fleet/organizations/plans'
import { bearerToken, deviceTokenMissing, deviceTokenRefused } from '#http/device-credentials'
import { coalesce } from '#postgres/coalesce'
import type { Queryable } from '#postgres/pool'
import { type DeviceGrant, findGrants, gatewayCredential, isGatewayCredential } from './device-grants.ts'

export type DeviceAccess = {
  /**
   * Returns the grant of an `Authorization` header: at once if it is cached, otherwise after a query. `device`: the device that
   * a gateway speaks for, as in its header. Throws 401 or 503; for a gateway also 400, and 404 `device_unknown`.
   */
  authenticate(authorization: string | undefined, device?: string): DeviceGrant | Promise<DeviceGrant>
  /** Returns the current version of a grant. Undefined if its credentials were revoked or have expired. */
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
// Long because each part reads and changes the same cache of grants.
export function createDeviceAccess({ db, plans, clock }: { db: Queryable; plans: Plans; clock: Clock }): DeviceAccess {
  const grants = new Map<string, DeviceGrant>()
  const shared = createSharedWords()
  const refusals = createRefusals(clock)
  const lookups = new Map<string, Promise<DeviceGrant>>()
  let refreshes = 0

  const find = coalesce(async (credentials: readonly string[]) => {
    const found = new Map((await findGrants({ db, plans }, credentials)).map((grant) => [grant.credential, grant]))
    return (credential: string) => found.get(credential)
  }, lookedUpTogether)

  /** A million devices of one organization would otherwise have as many copies of its id. */
  const cache = (grant: DeviceGrant) =>
    grants.set(grant.credential, { ...grant, organizationId: shared.word(grant.organizationId) })

  async function lookUp(credential: string): Promise<DeviceGrant> {
    const refreshesBefore = refreshes
    const found = await find(credential).catch(() => {
      throw new ServiceError(503, 'unavailable', 'Device tokens cannot be checked. Retry later.', {
        headers: { 'Retry-After': '2' },
      })
    })
    if (found && 'deviceId' in found) {
      cache(found)
      // A notice may have announced a newer state during the query, before this token was cached.
      if (refreshes !== refreshesBefore) void reload(credential).catch(() => {})
      return found
    }
    throw refusals.note(credential, found !== undefined)
  }

  function keep(credential: string, found: Awaited<ReturnType<typeof find>>): void {
    if (found && 'deviceId' in found) cache(found)
    else grants.delete(credential)
  }

  /** Reloads these credentials only, in a batch with others. A refresh would visit all for each of thousands. */
  async function reload(credential: string): Promise<void> {
    let refreshesBefore: number
    let found: Awaited<ReturnType<typeof find>>
    do {
      refreshesBefore = refreshes
      found = await find(credential)
    } while (refreshes !== refreshesBefore)
    keep(credential, found)
  }

  function authenticate(authorization: string | undefined, device?: string): DeviceGrant | Promise<DeviceGrant> {
    const token = bearerToken(authorization)
    if (token === undefined) throw deviceTokenMissing()
    const tokenHash = hash('sha256', token, 'base64')
    const credential = device === undefined ? tokenHash : gatewayCredential(tokenHash, parseIdentityHeader(device))
    const known = grants.get(credential)
    if (known) {
      if (known.expiresAtMs > clock()) return known
      grants.delete(credential)
    }
    if (parseToken(token)?.prefix !== (isGatewayCredential(credential) ? 'fle' : 'fld')) throw deviceTokenRefused()
    const refused = refusals.of(credential)
    if (refused) throw refused
    const pending = lookups.get(credential)
    if (pending) return pending
    const lookup = lookUp(credential).finally(() => lookups.delete(credential))
    lookups.set(credential, lookup)
    return lookup
  }

  function current({ credential }: DeviceGrant): DeviceGrant | undefined {
    const known = grants.get(credential)
    return known && known.expiresAtMs > clock() ? known : undefined
  }

  async function refresh(subjects?: readonly AccessSubject[]): Promise<void> {
    refreshes += 1
    const ids = subjects && new Set(subjects.map(idOf))
    const affected: string[] = []
    for (const [credential, { deviceId, organizationId }] of grants) {
      if (!ids || ids.has(deviceId) || ids.has(organizationId)) affected.push(credential)
    }
    for (let start = 0; start < affected.length; start += refreshBatch) {
      const batch = affected.slice(start, start + refreshBatch)
      const found = new Map((await findGrants({ db, plans }, batch)).map((grant) => [grant.credential, grant]))
      for (const credential of batch) keep(credential, found.get(credential))
    }
  }

  return { authenticate, current, refresh }
}

/** Remembers refused credentials for a moment, so that a device that repeats one causes few queries. */
function createRefusals(clock: Clock) {
  const refused = new Map<string, { untilMs: number; isUnknownDevice: boolean }>()
  const errorOf = (isUnknownDevice: boolean) => (isUnknownDevice ? deviceUnknown() : deviceTokenRefused())
  return {
    note(credential: string, isUnknownDevice: boolean): ServiceError {
      if (refused.size >= maxUnknown) refused.clear()
      refused.set(credential, { untilMs: clock() + unknownLifetimeMs, isUnknownDevice })
      return errorOf(isUnknownDevice)
    },
    of(credential: string): ServiceError | undefined {
      const found = refused.get(credential)
      return found && found.untilMs > clock() ? errorOf(found.isUnknownDevice) : undefined
    },
  }
}

const deviceUnknown = () => new ServiceError(404, 'device_unknown', "The gateway's key opens no such device.")

const idOf = (subject: AccessSubject) => ('deviceId' in subject ? subject.deviceId : subject.organizationId)
