import { createHash, createHmac } from 'node:crypto'
import { conflict, ServiceError } from '#core/errors'
import { storable } from '#core/text'
import { authorize } from '#fleet/access/principal'
import { type Scope, scopes } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import type { Keyring } from '#fleet/crypto/keyring'
import { boundPool, type Connection, transaction } from '#postgres/pool'

export type KeptAnswer = { status: number; headers: Record<string, string>; body: unknown }

export type OnceRequest = {
  key: string
  method: string
  /** The concrete path: the same key on another object is another request. */
  path: string
  /** Query and body, compared as parsed JSON. */
  request: unknown
  /** The scope the route asks for, checked again before an old answer is shown. */
  access: string
  /** The answer shows a secret, so only the fact that it was given is kept. */
  showsSecret: boolean
}

type RecordRow = {
  request_hash: Buffer
  organization_id: string | null
  status: number
  headers: Record<string, string>
  response: unknown
}

const keptFor = "interval '24 hours'"
const sha256 = (text: string) => createHash('sha256').update(text).digest()
const isScope = (word: string): word is Scope => (scopes as readonly string[]).includes(word)

/**
 * Runs `work` once per key, organization, principal, method and path within 24 h; a repetition gets the first answer.
 * Throws 422 when the key comes with another request, 409 while the first one runs, and 409 `already_issued` when the
 * first answer showed a secret. A request that throws leaves nothing behind.
 */
export function onceOnly(
  ctx: FleetContext,
  keyring: Keyring,
  request: OnceRequest,
  work: (ctx: FleetContext) => Promise<KeptAnswer>,
): Promise<{ answer: KeptAnswer; replayed: boolean }> {
  const { principal } = ctx
  const scopeHash = sha256(
    JSON.stringify([principal.homeOrganizationId, principal.id, request.method, request.path, request.key]),
  )
  const hashes = hashRequest(keyring, scopeHash, request.request)
  return transaction(ctx.pool, async (connection) => {
    await holdKey(connection, scopeHash)
    const kept = await findRecord(connection, scopeHash)
    if (kept) return { answer: replay(ctx, request, kept, hashes), replayed: true }
    const answer = await work({ ...ctx, pool: boundPool(connection) })
    await keepAnswer(connection, scopeHash, hashes.current, request.showsSecret ? null : answer, answer)
    return { answer, replayed: false }
  })
}

/** `current` is stored; `accepted` are the hashes that a stored request may have. */
type RequestHashes = { current: Buffer; accepted: readonly Buffer[] }

/**
 * Hashes a request with a key, because a body may hold a PIN, and all PINs are hashed in no time. Bound to the record, so
 * that equal requests cannot be told from their hashes either. The hash with the previous key is accepted during a
 * rotation; the one without a key is that of records of earlier versions, which are kept for 24 h.
 */
function hashRequest(keyring: Keyring, scopeHash: Buffer, request: unknown): RequestHashes {
  const text = canonicalJson(request)
  const keyed = (key: Buffer) => createHmac('sha256', key).update(scopeHash).update(text).digest()
  const current = keyed(keyring.current.hashKey)
  const previous = keyring.previous ? [keyed(keyring.previous.hashKey)] : []
  return { current, accepted: [current, ...previous, sha256(text)] }
}

/** The lock goes with the transaction, so a process that dies holding it blocks nobody. */
async function holdKey(connection: Connection, scopeHash: Buffer): Promise<void> {
  const { rows } = await connection.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [
    scopeHash.readBigInt64BE().toString(),
  ])
  if (!rows[0]?.held)
    throw conflict('idempotency_in_progress', 'The first request with this Idempotency-Key still runs.')
}

async function findRecord(connection: Connection, scopeHash: Buffer): Promise<RecordRow | undefined> {
  const { rows } = await connection.query<RecordRow>(
    `SELECT request_hash, organization_id, status, headers, response FROM idempotency_record
      WHERE scope_hash = $1 AND created_at > now() - ${keptFor}`,
    [scopeHash],
  )
  return rows[0]
}

function replay(ctx: FleetContext, request: OnceRequest, kept: RecordRow, hashes: RequestHashes): KeptAnswer {
  if (!hashes.accepted.some((hash) => hash.equals(kept.request_hash))) {
    throw new ServiceError(422, 'idempotency_key_reused', 'This Idempotency-Key was used for another request.')
  }
  if (kept.organization_id && isScope(request.access)) authorize(ctx.principal, kept.organization_id, request.access)
  if (kept.headers === null) {
    throw conflict('already_issued', 'This was answered once, with a secret that is shown only once.')
  }
  return { status: kept.status, headers: kept.headers, body: kept.response }
}

async function keepAnswer(
  connection: Connection,
  scopeHash: Buffer,
  requestHash: Buffer,
  shown: KeptAnswer | null,
  answer: KeptAnswer,
): Promise<void> {
  await connection.query(
    `INSERT INTO idempotency_record (scope_hash, organization_id, request_hash, status, headers, response)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (scope_hash) DO UPDATE SET organization_id = excluded.organization_id,
       request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers,
       response = excluded.response, created_at = now()`,
    [
      scopeHash,
      organizationOf(answer.body),
      requestHash,
      answer.status,
      shown && JSON.stringify(shown.headers),
      shown && JSON.stringify(shown.body, storableText),
    ],
  )
}

// An answer may quote what the caller sent.
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
