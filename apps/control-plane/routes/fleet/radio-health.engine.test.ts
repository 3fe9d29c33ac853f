import { gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimRun, whileClaimed } from '#fleet-map/radio-health/claim'
import { compareDueRadios } from '#fleet-map/radio-health/run'
import { openQuestdbSql, type QuestdbRows } from '#questdb/server/sql'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { questdbConnection } from '#test/questdb'
import { deleteDevice, registerDevice } from '#test/registered-device'
import { refreshCoverage, storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'

let api: TestControlPlane
let questdb: QuestdbRows
beforeAll(async () => {
  api = await startControlPlane()
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'radio-health.test' })
})
afterAll(() => Promise.all([api.close(), questdb.end()]))

const cells = gridDisk(latLngToCell(46.2, 7.3, 10), 3).slice(0, 24)
const hourMs = 3_600_000
const dayMs = 24 * hourMs

const compare = () => compareDueRadios({ ...api.services, clock: Date.now }, [questdb])
const list = (token: string, query = '') => api.call('GET', `/fleet/radio-health?${query}`, { token })
const ofDevice = (token: string, id: string) => api.call('GET', `/devices/${id}/radio-health`, { token })
const start = (token: string, orgId: string) => api.call('POST', `/orgs/${orgId}/radio-health-runs`, { token })

type Serving = Record<string, unknown>
const byIdentity: Serving = { cellId: '27447297' }

/** Six routers in the same 24 cells, each in three hours. The first has a weak antenna, and the tag `north`. */
async function fleetWithWeakRouter(serving: Serving = byIdentity) {
  const organization = await api.newOrganization({ plan: 'pro' })
  const weak = await registerDevice(api.services.pool, organization.id, { tags: ['north'] })
  const others = await Promise.all(Array.from({ length: 5 }, () => registerDevice(api.services.pool, organization.id)))
  const rows = [weak, ...others].flatMap((deviceId, index) =>
    cells.flatMap((h3, cell) => {
      const rsrpDbm = -90 + (cell % 5) + (index % 2) - (deviceId === weak ? 9 : 0)
      const newestMs = Date.now() - (1 + (cell % 3)) * hourMs
      return votesIn({ organizationId: organization.id, deviceId }, h3, 1, { ...serving, rsrpDbm }, newestMs)
    }),
  )
  await storeRows(api.questdb, 'cellular', rows)
  await refreshCoverage(api.questdb)
  return { organization, weak, others }
}

/** Requests a comparison and runs it as the worker does. */
async function compared(serving?: Serving) {
  const fleet = await fleetWithWeakRouter(serving)
  expect((await start(fleet.organization.key, fleet.organization.id)).status).toBe(202)
  expect(await compare()).toBe(6)
  return fleet
}

test('a comparison waits until a copy of QuestDB has the tables of this version', async () => {
  const { organization } = await fleetWithWeakRouter()
  await start(organization.key, organization.id)
  // Like a QuestDB that ingest has not upgraded yet.
  const earlier = { ...questdb, query: async () => [] }
  expect(await compareDueRadios({ ...api.services, clock: Date.now }, [earlier])).toBe(0)
  expect(await compareDueRadios({ ...api.services, clock: Date.now }, [earlier, questdb])).toBe(6)
})

describe('GET /fleet/radio-health', () => {
  test('200 with the weakest first, in pages and by filters', async () => {
    const { organization, weak } = await compared()
    const { status, body } = await list(organization.key, 'limit=4')
    expect(status).toBe(200)
    expect(body).toMatchObject({ asOf: expect.any(String), window: { from: expect.any(String) } })
    const [first] = body.items
    expect(first).toMatchObject({ deviceId: weak, modem: null, status: 'fault', sharedCells: 24, comparedDevices: 5 })
    expect(first).toMatchObject({ organizationId: organization.id, sinceAt: null })
    expect(first.offsetDb).toBeLessThan(-7)
    expect(first.offsetHighDb).toBeLessThan(-1.5)
    expect(first.offsetLowDb).toBeLessThanOrEqual(first.offsetDb)
    const rest = await list(organization.key, `limit=4&cursor=${body.nextCursor}`)
    expect(rest.body.nextCursor).toBeNull()
    const all = [...body.items, ...rest.body.items]
    expect(new Set(all.map(({ deviceId }) => deviceId)).size).toBe(6)
    expect(all.slice(1).every(({ status }) => status === 'ok')).toBe(true)

    const counted = async (query: string) => (await list(organization.key, query)).body.items.length
    expect(await counted('status=fault')).toBe(1)
    expect(await counted('status=fault&status=ok')).toBe(6)
    expect(await counted('tag=north')).toBe(1)
    expect(await counted('tag=south')).toBe(0)
    const group = await api.call('POST', `/orgs/${organization.id}/groups`, {
      token: organization.key,
      json: { name: 'North', smartTags: ['north'] },
    })
    expect(await counted(`groupId=${group.body.id}`)).toBe(1)
    const finished = (sql: string) =>
      api.services.pool.query(`UPDATE radio_health_run SET finished_at = ${sql} WHERE organization_id = $1`, [
        organization.id,
      ])
    await finished("now() - interval '2 hours'")
    expect(await counted('sinceMinutes=60')).toBe(0)
    // Otherwise the next test would compare the organization again.
    await finished('now()')
  })

  test('200 with the day on which an antenna became weak', async () => {
    const organization = await api.newOrganization({ plan: 'pro' })
    const devices = await Promise.all(
      Array.from({ length: 4 }, () => registerDevice(api.services.pool, organization.id)),
    )
    const todayMs = Math.floor(Date.now() / dayMs) * dayMs
    const days = Array.from({ length: 10 }, (_, index) => index + 1)
    const rows = devices.flatMap((deviceId, index) =>
      days.flatMap((daysAgo) => {
        const isWeak = index === 0 && daysAgo <= 7
        const fields = { ...byIdentity, rsrpDbm: -90 - (isWeak ? 6 : 0) }
        const newestMs = todayMs - daysAgo * dayMs + 12 * hourMs
        return cells.flatMap((h3) => votesIn({ organizationId: organization.id, deviceId }, h3, 1, fields, newestMs))
      }),
    )
    await storeRows(api.questdb, 'cellular', rows)
    await refreshCoverage(api.questdb)
    await start(organization.key, organization.id)
    await compare()
    const { items } = (await list(organization.key)).body
    expect(items[0]).toMatchObject({ deviceId: devices[0], status: 'fault', offsetDb: -6 })
    expect(items.map(({ sinceAt }: { sinceAt: string | null }) => sinceAt && Date.parse(sinceAt))).toEqual([
      ...[todayMs - 7 * dayMs, null, null, null],
    ])
  })

  test('200 compares by PCI and channel without a cell identity, and not at all without both', async () => {
    const { organization } = await compared({ pci: 17, arfcn: 1300 })
    expect((await list(organization.key, 'status=fault')).body.items).toHaveLength(1)
    const unnamed = await fleetWithWeakRouter({ pci: 17 })
    await start(unnamed.organization.key, unnamed.organization.id)
    expect(await compare()).toBe(0)
    expect((await list(unnamed.organization.key)).body).toMatchObject({ items: [], asOf: expect.any(String) })
  })

  test('200 without a comparison, and nothing of other organizations', async () => {
    const { organization } = await compared()
    const other = await api.newOrganization({ plan: 'pro' })
    expect((await list(other.key)).body).toMatchObject({ items: [], asOf: null, window: null })
    expect((await list(other.key, `orgId=${organization.id}`)).status).toBe(404)
  })

  test('400 for unknown parameters and values', async () => {
    const { key } = await api.newOrganization({ plan: 'pro' })
    for (const query of ['status=bad', 'sinceMinutes=0', 'limit=201', 'bbox=0,0,1,1', 'cursor=x'])
      expect((await list(key, query)).status, query).toBe(400)
  })

  test('403 without the scope or coverage in the plan', async () => {
    const free = await api.newOrganization({ plan: 'free' })
    expect((await list(free.key)).body.code).toBe('plan_feature')
    const { id } = await api.newOrganization({ plan: 'pro' })
    expect((await list(await api.newKey([id], ['device:read']), `orgId=${id}`)).status).toBe(403)
  })
})

describe('GET /devices/{id}/radio-health', () => {
  test('200 with the cells behind the result, the weakest first', async () => {
    const { organization, weak } = await compared()
    const { status, body } = await ofDevice(organization.key, weak)
    expect(status).toBe(200)
    expect(body).toMatchObject({ deviceId: weak, radios: [{ status: 'fault' }] })
    const [radio] = body.radios
    expect(radio.cells).toHaveLength(24)
    expect(radio.cells[0]).toMatchObject({ rat: 'lte', cellId: '27447297', pci: null, arfcn: null, comparedDevices: 5 })
    expect(cells).toContain(radio.cells[0].h3)
    expect(radio.cells[0].differenceDb).toBeLessThan(-7)
  })

  test('200 with PCI and channel of the cells', async () => {
    const { organization, weak } = await compared({ pci: 503, arfcn: 3_279_165 })
    const { body } = await ofDevice(organization.key, weak)
    expect(body.radios[0].cells[0]).toMatchObject({ cellId: null, pci: 503, arfcn: 3_279_165 })
  })

  test('200 starts anew after a transfer, and is gone with a deleted device', async () => {
    const { organization, weak, others } = await compared()
    const other = await api.newOrganization({ plan: 'pro' })
    const token = await api.newKey([organization.id, other.id], ['device:transfer', 'fleet:read', 'org:write'])
    const transfer = (toOrgId: string) => api.call('POST', `/devices/${weak}/transfer`, { token, json: { toOrgId } })
    expect((await transfer(other.id)).status).toBe(200)
    expect((await ofDevice(other.key, weak)).body.radios).toEqual([])
    expect((await list(organization.key)).body.items).toHaveLength(5)
    expect((await transfer(organization.id)).status).toBe(200)
    await start(token, organization.id)
    await compare()
    const [again] = (await ofDevice(organization.key, weak)).body.radios
    expect(again).toMatchObject({ status: 'unknown', sharedCells: 0, offsetDb: null, cells: [] })

    await deleteDevice(api.services.pool, others[0] ?? '')
    expect((await list(organization.key, 'status=ok&status=suspect')).body.items).toHaveLength(4)
  })

  test('403 without coverage in the plan, 404 for a device of another organization', async () => {
    const free = await api.newOrganization({ plan: 'free' })
    const device = await registerDevice(api.services.pool, free.id)
    expect((await ofDevice(free.key, device)).body.code).toBe('plan_feature')
    const other = await api.newOrganization({ plan: 'pro' })
    expect((await ofDevice(other.key, device)).status).toBe(404)
  })
})

describe('POST /orgs/{orgId}/radio-health-runs', () => {
  test('202 once at a time, and again after the comparison', async () => {
    const { id, key } = await api.newOrganization({ plan: 'pro' })
    const first = await start(key, id)
    expect(first).toMatchObject({ status: 202, body: { organizationId: id, status: 'waiting' } })
    expect((await start(key, id)).body).toEqual(first.body)
    await api.services.pool.query('UPDATE radio_health_run SET claimed_at = now() WHERE organization_id = $1', [id])
    expect((await start(key, id)).body).toEqual({ ...first.body, status: 'running' })
    expect(await compare()).toBe(0)
    expect((await list(key)).body.asOf).toBeNull()
    await api.services.pool.query('UPDATE radio_health_run SET claimed_at = NULL WHERE organization_id = $1', [id])
    await compare()
    expect((await list(key)).body.asOf).not.toBeNull()
    expect((await start(key, id)).body.status).toBe('waiting')
  })

  test('a worker that compares for long keeps its claim', async () => {
    const { pool } = api.services
    const { id: organizationId, key } = await api.newOrganization({ plan: 'pro' })
    await start(key, organizationId)
    const first = String(await claimRun(pool, organizationId))
    const claimedAt = async () => {
      const sql = 'SELECT claimed_at::text AS at FROM radio_health_run WHERE organization_id = $1'
      return (await pool.query<{ at: string }>(sql, [organizationId])).rows[0]?.at
    }
    const { claim } = await whileClaimed(pool, { organizationId, claim: first, everyMs: 20 }, () =>
      until('the claim is renewed', async () => (await claimedAt()) !== first),
    )
    expect(claim).not.toBe(first)
    expect(await claimedAt()).toBe(claim)
    await pool.query('UPDATE radio_health_run SET claimed_at = NULL WHERE organization_id = $1', [organizationId])
    await compare()
  })

  test('each night, every organization is compared once without a request', async () => {
    const { id, key } = await api.newOrganization({ plan: 'pro' })
    await compare()
    expect((await list(key)).body.asOf).toBeNull()
    await api.services.pool.query("UPDATE organization SET created_at = now() - interval '2 days' WHERE id = $1", [id])
    await compare()
    const { asOf } = (await list(key)).body
    expect(asOf).not.toBeNull()
    await compare()
    expect((await list(key)).body.asOf).toBe(asOf)
  })

  test('on its first day, an organization is compared every ten minutes, a large one less often', async () => {
    const { id, key } = await api.newOrganization({ plan: 'pro' })
    const comparedAt = async () => {
      await compare()
      return (await list(key)).body.asOf
    }
    const set = (assignment: string) => api.services.pool.query(assignment, [id])
    await set("UPDATE organization SET created_at = now() - interval '9 minutes' WHERE id = $1")
    expect(await comparedAt()).toBeNull()
    await set("UPDATE organization SET created_at = now() - interval '11 minutes' WHERE id = $1")
    const first = await comparedAt()
    expect(first).not.toBeNull()
    expect(await comparedAt()).toBe(first)
    await set("UPDATE radio_health_run SET finished_at = now() - interval '11 minutes' WHERE organization_id = $1")
    await set('UPDATE organization_usage SET device_count = 20000 WHERE organization_id = $1')
    expect(Date.parse(await comparedAt())).toBeLessThan(Date.parse(first))
    await set("UPDATE radio_health_run SET finished_at = now() - interval '21 minutes' WHERE organization_id = $1")
    expect(Date.parse(await comparedAt())).toBeGreaterThanOrEqual(Date.parse(first))
  })

  test('403 without the scope or coverage, 404 for another organization', async () => {
    const { id } = await api.newOrganization({ plan: 'pro' })
    expect((await start(await api.newKey([id], ['fleet:read']), id)).status).toBe(403)
    const free = await api.newOrganization({ plan: 'free' })
    expect((await start(free.key, free.id)).body.code).toBe('plan_feature')
    expect((await start(free.key, id)).status).toBe(404)
  })
})
