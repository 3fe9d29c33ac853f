import { newId } from '#core/ids'
import { Secret } from '#core/secret'
import type { FleetContext } from '#fleet/context'
import { createKeyring } from '#fleet/crypto/keyring'
import { insertDeviceTokens } from '#fleet/devices/credentials/tokens'
import { loadPlans } from '#fleet/organizations/plans'
import type { Pool } from '#postgres/pool'
import { transaction } from '#postgres/pool'
import { masterSecret } from './ingest-process.ts'

export type JobFleet = { ctx: FleetContext; organizationId: string; groupId: string; deviceIds: string[] }

const devicesAtOnce = 5_000

/** Creates an organization with one group of `deviceCount` routers, and a caller with all scopes. */
export async function createJobFleet(pool: Pool, deviceCount: number, clock = Date.now): Promise<JobFleet> {
  const organizationId = newId()
  const groupId = newId()
  const deviceIds = await transaction(pool, async (connection) => {
    await connection.query(`INSERT INTO organization (id, name, plan) VALUES ($1, 'Fleet', 'enterprise')`, [
      organizationId,
    ])
    await connection.query('INSERT INTO organization_usage (organization_id, device_count) VALUES ($1, $2)', [
      organizationId,
      deviceCount,
    ])
    await connection.query(`INSERT INTO device_group (id, organization_id, name) VALUES ($1, $2, 'All')`, [
      groupId,
      organizationId,
    ])
    const ids: string[] = []
    // In parts, because all routers at once take longer than a statement may when the machine is busy.
    while (ids.length < deviceCount) {
      const { rows } = await connection.query<{ id: string }>(
        `WITH made AS (
           INSERT INTO device (id, organization_id, serial, name, model, status)
           SELECT uuidv7(), $1, 'R' || n, 'Router ' || n, 'RX400', 'online' FROM generate_series($3::int + 1, $4::int) n
           RETURNING id
         ), joined AS (
           INSERT INTO device_group_member (organization_id, group_id, device_id) SELECT $1, $2, id FROM made
         )
         SELECT id FROM made`,
        [organizationId, groupId, ids.length, Math.min(ids.length + devicesAtOnce, deviceCount)],
      )
      for (const { id } of rows) ids.push(id)
    }
    return ids
  })
  const ctx: FleetContext = {
    pool,
    principal: {
      id: 'key:test',
      platform: true,
      homeOrganizationId: null,
      grants: new Map(),
      rateLimit: { key: 'test', perMinute: 1_000_000 },
    },
    plans: await loadPlans(),
    keyring: createKeyring(new Secret(masterSecret)),
    clock,
    requestId: newId(),
  }
  return { ctx, organizationId, groupId, deviceIds }
}

/** Issues a token for each device and returns them in order. */
export const issueTestTokens = (pool: Pool, organizationId: string, deviceIds: readonly string[]): Promise<string[]> =>
  transaction(pool, (connection) => insertDeviceTokens(connection, organizationId, deviceIds))
