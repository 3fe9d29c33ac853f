import { createHash, createHmac } from 'node:crypto'
import { conflict, notFound, ServiceError } from '#core/errors'
import { storable } from '#core/text'
import { authorize, type Principal, requirePlatform, sees } from '#fleet/access/principal'
import { type Scope, scopes } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import type { Keyring } from '#fleet/crypto/keyring'
import { boundPool, type Connection, transaction } from '#postgres/pool'

/** A response as it is stored for repeated requests. */
export type StoredResponse = { status: number; headers: Record<string, string>; body: unknown }

/** A request with an Idempotency-Key. */
type IdempotentRequest = {
  key: string
  method: string
  /** The path with its ids: the same key on another object is another request. */
  path: string
  /** Query and body, compared as parsed JSON. */
  request: unknown
  /** The scope that the route requires, or `platform`. It is checked again before a stored response is returned. */
  access: string
  /** Whose object the path names. Undefined: the organization that the response names, if any. */
  organizationId: string | undefined
  /** The response contains a secret, so it is not stored. */
  showsSecret: boolean
}

/** `headers` is null if the response contained a secret. */
type StoredRequest = Omit<StoredResponse, 'headers'> & {
  requestHash: Buffer
  organizationId: string | null
  headers: Record<string, string> | null
}

const retention = "interval '24 hours'"
const sha256 = (text: string) => createHash('sha256').update(text).digest()
const isScope = (word: string): word is Scope => (scopes as readonly string[]).includes(word)

/**
 * Runs `work` once per key, organization, principal, method and path within 24 h; a repeated request gets the stored
 * response. Throws 422 when the key was used for another request, 409 while the first request runs, and 409
 * `already_issued` when the first response contained a secret. A request that throws stores nothing.
 */
export function runOnce(
  ctx: FleetContext,
  request: IdempotentRequest,
  work: (ctx: FleetContext) => Promise<StoredResponse>,
): Promise<{ answer: StoredResponse; replayed: boolean }> {
  const { principal } = ctx
  const scopeHash = sha256(
    JSON.stringify([principal.homeOrganizationId, principal.id, request.method, request.path, request.key]),
  )
  const hashes = hashRequest(ctx.keyring, scopeHash, request.request)
  return transaction(ctx.pool, async (connection) => {
    await lockKey(connection, scopeHash)
    const stored = await findRecord(connection, scopeHash)
    if (stored) return { answer: replay(ctx, request, stored, hashes), replayed: true }
    const answer = await work({ ...ctx, pool: boundPool(connection) })
    await storeResponse(connection, { scopeHash, requestHash: hashes.current }, request, answer)
    return { answer, replayed: false }
  })
}

/** `current` is stored; `accepted` are the hashes that a stored request may have. */
type RequestHashes = { current: Buffer; accepted: readonly Buffer[] }

/**
 * Hashes a request with a key, because a body may contain a PIN, which could be found by trial. The hash includes the scope,
 * so that equal requests have different hashes. A hash with the previous key is accepted during a rotation. A hash without
 * a key is accepted for records of earlier versions, which are kept for 24 h.
 */
function hashRequest(keyring: Keyring, scopeHash: Buffer, request: unknown): RequestHashes {
  const text = canonicalJson(request)
  const keyed = (key: Buffer) => createHmac('sha256', key).update(scopeHash).update(text).digest()
  const current = keyed(keyring.current.hashKey)
  const previous = keyring.previous ? [keyed(keyring.previous.hashKey)] : []
  return { current, accepted: [current, ...previous, sha256(text)] }
}

/** Locks the key until the end of the transaction. A process that crashes releases the lock. */
async function lockKey(connection: Connection, scopeHash: Buffer): Promise<void> {
  const { rows } = await connection.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [
    scopeHash.readBigInt64BE().toString(),
  ])
  if (!rows[0]?.held) throw inProgress()
}

/** The error for a request whose key is that of a request in progress. */
export const inProgress = (): ServiceError =>
  conflict('idempotency_in_progress', 'The first request with this Idempotency-Key is still running.')

async function findRecord(connection: Connection, scopeHash: Buffer): Promise<StoredRequest | undefined> {
  const { rows } = await connection.query<StoredRequest>(
    `SELECT request_hash AS "requestHash", organization_id AS "organizationId", status, headers, response AS body
       FROM idempotency_record
      WHERE scope_hash = $1 AND created_at > now() - ${retention}`,
    [scopeHash],
  )
  return rows[0]
}

function replay(
  ctx: FleetContext,
  request: IdempotentRequest,
  { requestHash, organizationId, status, headers, body }: StoredRequest,
  hashes: RequestHashes,
): StoredResponse {
  requireAccess(ctx.principal, request.access, request.organizationId ?? organizationId)
  if (!hashes.accepted.some((hash) => hash.equals(requestHash))) {
    throw new ServiceError(422, 'idempotency_key_reused', 'This Idempotency-Key was used for another request.')
  }
  if (headers === null) {
    throw conflict('already_issued', 'The first response contained a secret, which is returned only once.')
  }
  return { status, headers, body }
}

/** Throws 404 and 403 when the caller may no longer do what it did. */
function requireAccess(principal: Principal, access: string, organizationId: string | null): void {
  if (access === 'platform') requirePlatform(principal)
  if (organizationId === null) return
  if (isScope(access)) authorize(principal, organizationId, access)
  else if (!sees(principal, organizationId)) throw notFound('organization', organizationId)
}

async function storeResponse(
  connection: Connection,
  { scopeHash, requestHash }: { scopeHash: Buffer; requestHash: Buffer },
  { showsSecret, organizationId }: IdempotentRequest,
  answer: StoredResponse,
): Promise<void> {
  const replayable = showsSecret ? null : answer
  await connection.query(
    `INSERT INTO idempotency_record (scope_hash, organization_id, request_hash, status, headers, response)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (scope_hash) DO UPDATE SET organization_id = excluded.organization_id,
       request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers,
       response = excluded.response, created_at = now()`,
    [
      scopeHash,
      organizationId ?? organizationOf(answer.body),
      requestHash,
      answer.status,
      replayable && JSON.stringify(replayable.headers),
      replayable && JSON.stringify(replayable.body, storableText),
    ],
  )
}

// A response may quote text of the caller.
const storableText = (_key: string, inner: unknown): unknown => (typeof inner === 'string' ? storable(inner) : inner)

const organizationOf = (body: unknown): string | null =>
  typeof body === 'object' && body !== null && 'organizationId' in body && typeof body.organizationId === 'string'
    ? body.organizationId
    : null

/** JSON with sorted keys, so that equal documents are equal texts. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
