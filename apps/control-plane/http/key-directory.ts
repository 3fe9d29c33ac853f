import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Counter, type Registry } from 'prom-client'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { type FoundKey, findKeysByHash, findKeysById, type KeySource } from '#fleet/access/key-lookup'
import { findSessionsByHash } from '#fleet/access/sessions'
import type { Plans } from '#fleet/organizations/plans'
import { coalesce } from '#postgres/coalesce'
import type { Queryable } from '#postgres/pool'

/**
 * Finds API keys by token or by id, and sign-in sessions by the token of their cookie. Returns undefined if a key or session
 * is unknown, expired or revoked. `address` is the
 * client's address. Throws 429 if too many look-ups for the address wait, and 503 if too many look-ups wait in total.
 */
export type KeyDirectory = {
  byToken(token: string, address?: string): Promise<FoundKey | undefined>
  byId(id: string, address?: string): Promise<FoundKey | undefined>
  bySession(token: string, address?: string): Promise<FoundKey | undefined>
  /** Removes a key, a session, the sessions of a person, or all, from the cache, so that the next request reads the database. */
  forget(id?: string): void
}

type Parts = { db: Queryable; plans: Plans; clock: Clock; registry: Registry }

const knownForMs = 5_000
// An unknown token stays unknown: new tokens cannot be guessed, and revoked tokens are not restored.
const unknownForMs = 30_000
const maxRemembered = 50_000
const lookedUpTogether = 500
const maxWaiting = 2_000
const maxWaitingPerAddress = 100

/**
 * Caches keys for at most 5 s, and unknown tokens for longer. Look-ups share database queries, and only one query runs
 * at a time, so that requests with invented keys cannot overload the database.
 */
export function createKeyDirectory({ db, plans, clock, registry }: Parts): KeyDirectory {
  const lookups = new Counter({
    name: 'api_key_lookups_total',
    help: 'Look-ups of API keys and sign-in sessions in the database, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const gate = createGate()
  const directoryOf = (find: (source: KeySource, names: readonly string[]) => Promise<Map<string, FoundKey>>) => {
    // Two caches, so that invented keys do not evict existing keys.
    const known = new LRUCache<string, FoundKey>({ max: maxRemembered, perf: { now: clock } })
    const unknown = new LRUCache<string, true>({ max: maxRemembered, ttl: unknownForMs, perf: { now: clock } })
    const pending = new Map<string, Promise<FoundKey | undefined>>()
    const findOne = coalesce(async (names: readonly string[]) => {
      const found = await find({ db, plans }, names)
      return (name: string) => found.get(name)
    }, lookedUpTogether)

    const lookUp = async (name: string): Promise<FoundKey | undefined> => {
      const found = await findOne(name)
      lookups.inc({ outcome: found ? 'found' : 'unknown' })
      const lifetimeMs = Math.min(knownForMs, (found?.expiresAtMs ?? Number.POSITIVE_INFINITY) - clock())
      if (!found) unknown.set(name, true)
      else if (lifetimeMs > 0) known.set(name, found, { ttl: lifetimeMs })
      return found
    }
    return {
      async find(name: string, address: string | undefined): Promise<FoundKey | undefined> {
        const found = known.get(name)
        if (found || unknown.has(name)) return found
        const shared = pending.get(name)
        if (shared) return shared
        const leave = gate.enter(address)
        const lookup = lookUp(name).finally(() => {
          pending.delete(name)
          leave()
        })
        pending.set(name, lookup)
        return lookup
      },
      forget(changedId: string | undefined): void {
        for (const [name, { id, personId, principal }] of known.entries()) {
          // The session of a key has the key's scopes, and that of a person the person's roles.
          const changed = id === changedId || personId === changedId || principal.id === `key:${changedId}`
          if (changedId === undefined || changed) known.delete(name)
        }
        if (changedId === undefined) unknown.clear()
      },
    }
  }
  const byHash = directoryOf(findKeysByHash)
  const byId = directoryOf(findKeysById)
  const bySession = directoryOf(findSessionsByHash)
  return {
    byToken: (token, address) => byHash.find(hash('sha256', token, 'base64'), address),
    byId: (id, address) => byId.find(id, address),
    bySession: (token, address) => bySession.find(hash('sha256', token, 'base64'), address),
    forget(id) {
      for (const directory of [byHash, byId, bySession]) directory.forget(id)
    },
  }
}

/** Limits the number of waiting look-ups, in total and for each address. */
function createGate() {
  const waitingOf = new Map<string, number>()
  let waiting = 0
  const change = (address: string | undefined, by: 1 | -1) => {
    waiting += by
    if (address === undefined) return
    const count = (waitingOf.get(address) ?? 0) + by
    if (count > 0) waitingOf.set(address, count)
    else waitingOf.delete(address)
  }
  return {
    /** Returns a function that ends the look-up. Throws 429 or 503. */
    enter(address: string | undefined): () => void {
      if (address !== undefined && (waitingOf.get(address) ?? 0) >= maxWaitingPerAddress) {
        throw busy(429, 'rate_limited', 'Too many keys of this address are being checked. Retry later.')
      }
      if (waiting >= maxWaiting) throw busy(503, 'unavailable', 'Too many keys are being checked. Retry later.')
      change(address, 1)
      return () => change(address, -1)
    },
  }
}

const busy = (status: 429 | 503, code: string, detail: string) =>
  new ServiceError(status, code, detail, { headers: { 'Retry-After': '1' } })
