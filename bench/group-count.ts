import { performance } from 'node:perf_hooks'
import { Secret } from '#core/secret'
import type { FleetContext } from '#fleet/context'
import { createKeyring } from '#fleet/crypto/keyring'
import { createGroup } from '#fleet/groups/change'
import { addGroupMembers } from '#fleet/groups/members'
import { listGroups } from '#fleet/groups/read'
import { insertOrganization } from '#fleet/organizations/organizations'
import { loadPlans } from '#fleet/organizations/plans'
import type { Pool } from '#postgres/pool'
import { seedDevices } from '#test/seed-devices'
import { openBenchPostgres } from './postgres.ts'
import type { Bench, Figure } from './report.ts'
import { median, percentile } from './statistics.ts'

const membersAtOnce = 1_000

const bareSql = `
  SELECT count(*) FROM (
    SELECT device_id FROM device_group_member WHERE organization_id = $1 AND group_id = $2
    UNION
    SELECT id FROM device WHERE organization_id = $1 AND tags && $3::text[]
  ) member`

/** Counting a group of 100,000 effective members, most of them by smart tag, as in the list of groups. */
export const groupCount: Bench = {
  name: 'group-count',
  about: 'The list of groups with one group of many effective members, compared with the plain SQL that counts them.',
  async run({ quick }) {
    const members = quick ? 10_000 : 100_000
    const postgres = await openBenchPostgres()
    try {
      return [await measure(postgres.pool, members, quick ? 10 : 50)]
    } finally {
      await postgres.close()
    }
  },
}

async function measure(pool: Pool, members: number, rounds: number): Promise<Figure> {
  const { ctx, organizationId, groupId } = await seedGroup(pool, members)
  const listed: number[] = []
  const bare: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    listed.push(await timed(() => listGroups(ctx, { organizationId, page: { limit: 50, after: undefined } })))
    bare.push(await timed(() => pool.query(bareSql, [organizationId, groupId, ['vehicle']])))
  }
  const { items } = await listGroups(ctx, { organizationId, page: { limit: 50, after: undefined } })
  if (items[0]?.effectiveDeviceCount !== members) throw new Error('The group count is wrong.')
  return {
    name: `${members} effective members`,
    value: `p50 ${median(listed).toFixed(1)} ms, p99 ${percentile(listed, 99).toFixed(1)} ms; bare p50 ${median(bare).toFixed(1)} ms`,
    ratio: `p50 ${(median(listed) / median(bare)).toFixed(1)} ×`,
    target: '< 200 ms at 100,000',
  }
}

async function seedGroup(pool: Pool, members: number) {
  const { id: organizationId } = await insertOrganization(pool, 'Many', 'enterprise')
  const ctx: FleetContext = {
    pool,
    plans: await loadPlans(),
    keyring: createKeyring(new Secret('a master secret for the benchmark')),
    clock: Date.now,
    requestId: 'bench',
    principal: {
      id: 'key:bench',
      platform: true,
      homeOrganizationId: null,
      grants: new Map(),
      rateLimit: { key: 'bench', perMinute: 1 },
    },
  }
  const { group } = await createGroup(ctx, { organizationId, name: 'Vehicles', smartTags: ['vehicle'] })
  // Four of five members have the smart tag, every fifth is explicit.
  for (let made = 0; made < members; made += membersAtOnce) {
    if (made % (5 * membersAtOnce) !== 0)
      await seedDevices(pool, organizationId, membersAtOnce, { tags: ['vehicle', 'eu'] })
    else {
      const explicit = await seedDevices(pool, organizationId, membersAtOnce, { tags: ['eu'] })
      await addGroupMembers(ctx, { organizationId, groupId: group.id, deviceIds: explicit })
    }
  }
  await pool.query('ANALYZE')
  return { ctx, organizationId, groupId: group.id }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
