import { randomBytes } from 'node:crypto'
import { notFound } from '#core/errors'
import { type Keyring, open, seal, type WrappingKey } from '#fleet/crypto/keyring'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

/** The encryption key of an organization. `boundTo` binds a ciphertext to its place; it cannot be decrypted elsewhere. */
type DataKey = {
  seal(plain: string, boundTo: readonly (string | number)[]): Buffer
  open(sealed: Buffer, boundTo: readonly (string | number)[]): string
}

type Row = { organization_id: string; key_id: string; wrapped_key: Buffer }

const boundToOrganization = (organizationId: string) => ['data-key', organizationId]

/**
 * Returns the data key of an organization; creates and stores it, wrapped, when there is none. Throws 404 for an unknown organization,
 * and an Error when no key unwraps it.
 */
export async function dataKeyOf(connection: Queryable, keyring: Keyring, organizationId: string): Promise<DataKey> {
  const stored = await findRow(connection, organizationId)
  const row = stored ?? (await createRow(connection, keyring.current, organizationId))
  const key = unwrap(row, keyring)
  return {
    seal: (plain, boundTo) => seal(key, Buffer.from(plain), [organizationId, ...boundTo]),
    open: (sealed, boundTo) => open(key, sealed, [organizationId, ...boundTo]).toString(),
  }
}

async function findRow(connection: Queryable, organizationId: string): Promise<Row | undefined> {
  const { rows } = await connection.query<Row>(
    'SELECT organization_id, key_id, wrapped_key FROM organization_data_key WHERE organization_id = $1',
    [organizationId],
  )
  return rows[0]
}

async function createRow(connection: Queryable, wrapping: WrappingKey, organizationId: string): Promise<Row> {
  const wrapped = seal(wrapping.key, randomBytes(32), boundToOrganization(organizationId))
  // When two transactions create the key at the same time, both use the one that was stored first.
  await connection.query(
    `INSERT INTO organization_data_key (organization_id, key_id, wrapped_key)
     SELECT id, $2, $3 FROM organization WHERE id = $1 ON CONFLICT (organization_id) DO NOTHING`,
    [organizationId, wrapping.id, wrapped],
  )
  const row = await findRow(connection, organizationId)
  if (!row) throw notFound('organization', organizationId)
  return row
}

function unwrap(row: Row, keyring: Keyring): Buffer {
  const wrapping = [keyring.current, keyring.previous].find((candidate) => candidate?.id === row.key_id)
  if (!wrapping) throw new Error(`A data key is wrapped with key ${row.key_id}, which is not configured.`)
  return open(wrapping.key, row.wrapped_key, boundToOrganization(row.organization_id))
}

/**
 * Wraps every data key with the current key, in one transaction, and returns how many. Secrets encrypted with the data keys
 * do not change. Throws when a data key is wrapped with neither the current nor the previous key.
 */
export const rewrapDataKeys = (pool: Pool, keyring: Keyring): Promise<number> =>
  transaction(pool, async (connection) => {
    const { rows } = await connection.query<Row>(
      'SELECT organization_id, key_id, wrapped_key FROM organization_data_key WHERE key_id <> $1 FOR UPDATE',
      [keyring.current.id],
    )
    const wrapped = rows.map((row) =>
      seal(keyring.current.key, unwrap(row, keyring), boundToOrganization(row.organization_id)),
    )
    await connection.query(
      `UPDATE organization_data_key SET key_id = $1, wrapped_key = fresh.wrapped_key
       FROM unnest($2::uuid[], $3::bytea[]) AS fresh (organization_id, wrapped_key)
       WHERE organization_data_key.organization_id = fresh.organization_id`,
      [keyring.current.id, rows.map((row) => row.organization_id), wrapped],
    )
    return rows.length
  })
