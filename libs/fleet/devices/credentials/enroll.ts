import { conflict, ServiceError } from '#core/errors'
import { hashToken, parseToken } from '#core/tokens'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import type { EnrollmentKey } from '#fleet/devices/credentials/enrollment-keys'
import { type EnrollmentNonce, insertDeviceTokens } from '#fleet/devices/credentials/tokens'
import { insertDevices, serialTaken } from '#fleet/devices/register'
import { requireActiveSubscription, requireQuota, reserveQuota } from '#fleet/organizations/subscriptions'
import { systemTransaction } from '#fleet/tenant'
import type { Connection, Queryable } from '#postgres/pool'

type Enrollment = {
  enrollmentKey: string
  serial: string
  model: string
  name?: string | undefined
  /** Chosen and kept by the router. */
  nonce?: string | undefined
}
type EnrolledDevice = { deviceId: string; token: string }

type Key = Pick<EnrollmentKey, 'id' | 'autoCreate' | 'groupId' | 'models' | 'maxDevices' | 'enrolledCount'> & {
  organizationId: string
}

type EnrollmentContext = Pick<FleetContext, 'pool' | 'plans' | 'requestId'>

/**
 * Enrolls a router: returns its device id and its token, which is returned only here. A router that did not receive the
 * response repeats the call with the same nonce within 24 h, and receives the same device with a new token. Throws 401 for an
 * invalid key, 403 `enrollment_refused` when the key does not allow the router, 402, 403 `device_quota_exceeded`, and 409
 * `already_enrolled`.
 */
export async function enrollDevice(ctx: EnrollmentContext, enrollment: Enrollment): Promise<EnrolledDevice> {
  try {
    return await enrollOnce(ctx, enrollment)
  } catch (error) {
    // A concurrent call has registered the serial; the second attempt finds the device.
    if (error instanceof ServiceError && error.code === 'serial_taken') return enrollOnce(ctx, enrollment)
    throw error
  }
}

function enrollOnce(ctx: EnrollmentContext, enrollment: Enrollment): Promise<EnrolledDevice> {
  // An import of the same serial can lock it and the usage counter in the other order.
  return systemTransaction(ctx, async (connection) => {
    const key = await lockKey(connection, enrollment.enrollmentKey)
    // Otherwise, a gateway could get the token of a device outside its group.
    if (key.groupId !== null) throw refused('The key is for the gateway of a group and enrolls no routers.')
    if (key.models && !key.models.includes(enrollment.model)) throw refused('The key does not allow this model.')
    const known = await findBySerial(connection, key.organizationId, enrollment.serial)
    if (!known && !key.autoCreate) throw refused('The serial is not registered.')
    if (known?.disabled) throw refused('The device is disabled.')
    const entitlement = await requireActiveSubscription(ctx, connection, key.organizationId)
    const nonce = await readNonce(connection, key.organizationId, known, enrollment.nonce)
    const isRepeated = nonce !== undefined && nonce.since !== null
    if (known?.hasToken && !isRepeated) throw conflict('already_enrolled', 'The device already has a token.')
    if (!isRepeated && key.maxDevices !== null && key.enrolledCount >= key.maxDevices)
      throw refused('The key has enrolled its maximum number of devices.')
    if (!known) await requireQuota(connection, entitlement)
    const deviceId = known?.id ?? (await register(ctx, connection, key, enrollment))
    const [token = ''] = await insertDeviceTokens(connection, key.organizationId, [deviceId], nonce)
    if (isRepeated) await deleteOldestTokens(connection, key.organizationId, deviceId, nonce)
    else await connection.query('UPDATE enrollment_key SET enrolled_count = enrolled_count + 1 WHERE id = $1', [key.id])
    await recordAudit(connection, [
      {
        organizationId: key.organizationId,
        actor: actorOf(key),
        action: 'device.enrolled',
        subjectId: deviceId,
        detail: { serial: enrollment.serial, model: enrollment.model, ...(isRepeated && { repeated: true }) },
        requestId: ctx.requestId,
      },
    ])
    if (!known) await reserveQuota(connection, entitlement, 1)
    return { deviceId, token }
  })
}

const actorOf = (key: Key) => `enrollment-key:${key.id}`
const refused = (detail: string) => new ServiceError(403, 'enrollment_refused', detail)

/** Locks the row of the key, so that concurrent enrollments count its devices correctly. */
async function lockKey(connection: Connection, key: string): Promise<Key> {
  const { rows } =
    parseToken(key)?.prefix === 'fle'
      ? await connection.query<Key>(
          `SELECT id, organization_id AS "organizationId", auto_create AS "autoCreate", gateway_group_id AS "groupId", models,
             max_devices AS "maxDevices", enrolled_count AS "enrolledCount" FROM enrollment_key
           WHERE token_hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) FOR UPDATE`,
          [hashToken(key)],
        )
      : { rows: [] }
  if (rows[0]) return rows[0]
  throw keyRefused()
}

/** The error for an enrollment key that is not valid. */
export const keyRefused = (): ServiceError =>
  new ServiceError(401, 'unauthenticated', 'The enrollment key is unknown, expired or revoked.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="routerfleet"' },
  })

/** The organizations of these enrollment keys, by key. Unknown keys are left out. Locks nothing. */
export async function findEnrollingOrganizations(db: Queryable, keys: readonly string[]): Promise<Map<string, string>> {
  const hashes = new Map(keys.filter((key) => parseToken(key)?.prefix === 'fle').map((key) => [key, hashToken(key)]))
  if (hashes.size === 0) return new Map()
  const { rows } = await db.query<{ hash: string; organizationId: string }>(
    `SELECT encode(token_hash, 'hex') AS hash, organization_id AS "organizationId" FROM enrollment_key
     WHERE token_hash = ANY ($1::bytea[])`,
    [[...hashes.values()]],
  )
  const organizations = new Map(rows.map(({ hash, organizationId }) => [hash, organizationId]))
  return new Map(
    [...hashes].flatMap(([key, hash]) => {
      const organizationId = organizations.get(hash.toString('hex'))
      return organizationId === undefined ? [] : [[key, organizationId] as const]
    }),
  )
}

/**
 * Locks the device before the query for tokens, because a statement that waits for a lock does not see a token committed
 * during the wait.
 */
async function findBySerial(
  connection: Connection,
  organizationId: string,
  serial: string,
): Promise<{ id: string; disabled: boolean; hasToken: boolean } | undefined> {
  const { rows } = await connection.query<{ id: string; disabled: boolean }>(
    `SELECT id, status = 'disabled' AS disabled FROM device
     WHERE organization_id = $1 AND (serial = $2 OR text_folded(serial) = text_folded($2) AND NOT shares_serial)
     ORDER BY serial <> $2 LIMIT 1 FOR NO KEY UPDATE`,
    [organizationId, serial],
  )
  const device = rows[0]
  if (!device) return undefined
  const { rowCount } = await connection.query(
    `SELECT FROM device_token
     WHERE organization_id = $1 AND device_id = $2 AND (expires_at IS NULL OR expires_at > now()) LIMIT 1`,
    [organizationId, device.id],
  )
  return { ...device, hasToken: rowCount !== 0 }
}

/**
 * Returns the nonce of an enrollment. It has a time if the device has a token of an enrollment with this nonce in the last
 * 24 h: the enrollment is then repeated. A token that an operator has revoked or replaced, and that expires, does not count.
 */
async function readNonce(
  connection: Connection,
  organizationId: string,
  device: { id: string } | undefined,
  nonce: string | undefined,
): Promise<EnrollmentNonce | undefined> {
  if (nonce === undefined) return undefined
  const hash = hashToken(nonce)
  if (!device) return { hash, since: null }
  const { rows } = await connection.query<{ since: Date | null }>(
    `SELECT max(enrolled_at) AS since FROM device_token
     WHERE organization_id = $1 AND device_id = $2 AND enrollment_nonce_hash = $3
       AND enrolled_at > now() - interval '24 hours' AND expires_at IS NULL`,
    [organizationId, device.id, hash],
  )
  return { hash, since: rows[0]?.since ?? null }
}

/**
 * Earlier tokens of the same nonce stay valid, because the service may receive a request after its repetition. Only the
 * newest five stay, so that a router that repeats all day does not collect tokens.
 */
const deleteOldestTokens = (
  connection: Connection,
  organizationId: string,
  deviceId: string,
  { hash }: EnrollmentNonce,
) =>
  connection.query(
    `DELETE FROM device_token WHERE organization_id = $1 AND device_id = $2 AND id IN (
       SELECT id FROM device_token WHERE organization_id = $1 AND device_id = $2 AND enrollment_nonce_hash = $3
       ORDER BY created_at DESC OFFSET 5)`,
    [organizationId, deviceId, hash],
  )

async function register(
  ctx: EnrollmentContext,
  connection: Connection,
  key: Key,
  { serial, model, name }: Enrollment,
): Promise<string> {
  const [row] = await insertDevices(
    connection,
    key.organizationId,
    [{ serial, model, name: name ?? serial, tags: [] }],
    { actor: actorOf(key), requestId: ctx.requestId },
  )
  if (!row) throw serialTaken(serial)
  return row.id
}
