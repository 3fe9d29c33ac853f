import { gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compareDueRadios } from '#fleet-map/radio-health/run'
import { openQuestdbSql, type QuestdbRows } from '#questdb/server/sql'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { votesIn } from '#test/coverage-rows'
import { questdbConnection } from '#test/questdb'
import { deleteDevice, registerDevice, transferDevice } from '#test/registered-device'
import { refreshCoverage, storeRows } from '#test/telemetry-rows'

let api: TestControlPlane
let questdb: QuestdbRows
beforeAll(async () => {
  api = await startControlPlane()
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'sim-advice.test' })
})
afterAll(() => Promise.all([api.close(), questdb.end()]))

const [here, there, elsewhere] = gridDisk(latLngToCell(46.2, 7.3, 10), 1) as [string, string, string]
const [ours, theirs] = ['26201', '26202']

const list = (token: string, query = '') => api.call('GET', `/fleet/sim-advice?${query}`, { token })
/** Runs the comparisons that are due as the worker does. */
const compare = () => compareDueRadios({ ...api.services, clock: Date.now }, [questdb])

/** Requests a comparison of the organization and runs it. */
async function compared({ id, key }: { id: string; key: string }) {
  expect((await api.call('POST', `/orgs/${id}/radio-health-runs`, { token: key })).status).toBe(202)
  await compare()
}

/** Minutes ago, so that the votes of different calls have different minutes of the last two hours of one UTC day. */
const newestMs = (minutesAgo: number) => Date.now() - minutesAgo * 60_000

/**
 * A router without service in one of its two cells, and one of another operator that has service there. A third has only been
 * where no other was.
 */
async function newFleet() {
  const organization = await api.newOrganization({ plan: 'pro' })
  const organizationId = organization.id
  const newDevice = (tags: string[] = []) => registerDevice(api.services.pool, organizationId, { tags })
  const [lost, served, alone] = [await newDevice(['north']), await newDevice(), await newDevice(['far'])]
  await storeRows(api.questdb, 'cellular', [
    ...votesIn({ organizationId, deviceId: lost }, here, 20, { plmn: ours, rat: 'none' }, newestMs(2)),
    ...votesIn({ organizationId, deviceId: lost }, there, 10, { plmn: ours }, newestMs(30)),
    ...votesIn({ organizationId, deviceId: served }, here, 8, { plmn: theirs }, newestMs(2)),
    ...votesIn({ organizationId, deviceId: served }, there, 6, { plmn: theirs }, newestMs(30)),
    ...votesIn({ organizationId, deviceId: served }, there, 2, { plmn: theirs, rat: 'none' }, newestMs(40)),
    ...votesIn({ organizationId, deviceId: alone }, elsewhere, 5, { plmn: theirs }, newestMs(2)),
  ])
  await refreshCoverage(api.questdb)
  await compared(organization)
  return { organization, lost, served, alone }
}

/** Votes that cross midnight are of two days. The minutes are rounded. */
const perDay = (minutes: number, days: number) => expect.closeTo(minutes / days, 1)

describe('GET /fleet/sim-advice', () => {
  test('200 with the greatest gain first, what is not known as null, and the total', async () => {
    const { organization, lost, served, alone } = await newFleet()
    const { status, body } = await list(organization.key)
    expect(status).toBe(200)
    expect(body).toMatchObject({ asOf: expect.any(String), window: { from: expect.any(String) }, nextCursor: null })
    const [first, second, third] = body.items
    const days = Math.round(30 / first.minutesPerDay)
    expect(first).toEqual({
      ...{ organizationId: organization.id, deviceId: lost, deviceName: expect.any(String), modem: null, plmn: ours },
      ...{ minutesPerDay: perDay(30, days), noServiceMinutesPerDay: perDay(20, days) },
      // Two of eight votes of the other operator in the cell with ten minutes are without service.
      operators: [{ plmn: theirs, noServiceMinutesPerDay: perDay(2.5, days), knownShare: 1 }],
      ...{ bestPlmn: theirs, gainMinutesPerDay: perDay(17.5, days) },
    })
    expect(second).toMatchObject({ deviceId: served, bestPlmn: null, gainMinutesPerDay: 0 })
    expect(third).toMatchObject({ deviceId: alone, bestPlmn: null, gainMinutesPerDay: null })
    expect(third.operators).toEqual([{ plmn: ours, noServiceMinutesPerDay: null, knownShare: 0 }])
    expect(body.total).toMatchObject({ sims: 3 })
    expect(body.total.noServiceMinutesPerDay).toBeCloseTo(
      first.noServiceMinutesPerDay + second.noServiceMinutesPerDay + third.noServiceMinutesPerDay,
      1,
    )
    const [best] = body.total.operators
    expect(best).toMatchObject({ plmn: theirs, knownSims: 3 })
    expect(best.noServiceMinutesPerDay).toBeCloseTo(body.total.noServiceMinutesPerDay - first.gainMinutesPerDay, 1)
  })

  test('200 in pages and by filters', async () => {
    const { organization, lost, alone } = await newFleet()
    const { body } = await list(organization.key, 'limit=2')
    const rest = await list(organization.key, `limit=2&cursor=${body.nextCursor}`)
    expect(rest.body).toMatchObject({ items: [{ deviceId: alone }], nextCursor: null, total: null })
    const found = async (query: string) =>
      (await list(organization.key, query)).body.items.map((item: { deviceId: string }) => item.deviceId)
    expect(await found('tag=north')).toEqual([lost])
    expect(await found(`deviceId=${alone}`)).toEqual([alone])
    const group = await api.call('POST', `/orgs/${organization.id}/groups`, {
      token: organization.key,
      json: { name: 'North', smartTags: ['north'] },
    })
    expect((await list(organization.key, `groupId=${group.body.id}`)).body.total).toMatchObject({ sims: 1 })
    await api.services.pool.query(
      "UPDATE radio_health_run SET finished_at = now() - interval '2 hours' WHERE organization_id = $1",
      [organization.id],
    )
    expect(await found('sinceMinutes=60')).toEqual([])
  })

  test('200 without the votes of a device from before its transfer', async () => {
    const [before, organization] = [
      await api.newOrganization({ plan: 'pro' }),
      await api.newOrganization({ plan: 'pro' }),
    ]
    const { pool } = api.services
    const [moved, own] = [await registerDevice(pool, before.id), await registerDevice(pool, organization.id)]
    await transferDevice(pool, moved, organization.id, newestMs(25))
    const organizationId = organization.id
    await storeRows(api.questdb, 'cellular', [
      ...votesIn({ organizationId, deviceId: moved }, here, 10, { plmn: theirs }, newestMs(2)),
      ...votesIn({ organizationId, deviceId: moved }, there, 30, { plmn: ours, rat: 'none' }, newestMs(30)),
      ...votesIn({ organizationId, deviceId: own }, there, 20, { plmn: theirs }, newestMs(30)),
    ])
    await refreshCoverage(api.questdb)
    await compared(organization)
    const { items } = (await list(organization.key)).body
    const found = items.find((item: { deviceId: string }) => item.deviceId === moved)
    expect(found).toMatchObject({ plmn: theirs, noServiceMinutesPerDay: 0 })
    expect([10, 5]).toContain(Math.round(found.minutesPerDay))
    // Only the votes from before the transfer would tell what the other operator has there.
    expect(items.find((item: { deviceId: string }) => item.deviceId === own).operators).toEqual([])
  })

  test('200 with a line for each modem, by the votes of the other one in the same vehicle', async () => {
    const organization = await api.newOrganization({ plan: 'pro' })
    const deviceId = await registerDevice(api.services.pool, organization.id)
    const vehicle = { organizationId: organization.id, deviceId }
    await storeRows(api.questdb, 'cellular', [
      ...votesIn(vehicle, here, 10, { plmn: ours, rat: 'none', modem: 'wwan0' }, newestMs(2)),
      ...votesIn(vehicle, here, 10, { plmn: theirs, modem: 'wwan1' }, newestMs(2)),
    ])
    await refreshCoverage(api.questdb)
    await compared(organization)
    expect((await list(organization.key)).body.items).toMatchObject([
      { deviceId, modem: 'wwan0', plmn: ours, bestPlmn: theirs },
      { deviceId, modem: 'wwan1', plmn: theirs, bestPlmn: null, gainMinutesPerDay: 0 },
    ])
  })

  test('200 with numbers by hand: operators that fail in turn, one known in half of the minutes, and two SIMs in a modem', async () => {
    const [organization, other] = [
      await api.newOrganization({ plan: 'pro' }),
      await api.newOrganization({ plan: 'pro' }),
    ]
    const voterIn = async ({ id }: { id: string }) => ({
      organizationId: id,
      deviceId: await registerDevice(api.services.pool, id),
    })
    const [truck, van, two] = [await voterIn(organization), await voterIn(organization), await voterIn(organization)]
    const [half, never] = ['26203', '26207']
    const lost = (lostPlmn: string) => ({ rat: 'none', plmn: null, lostPlmn })
    const [first, second] = [{ modem: 'wwan0' }, { modem: 'wwan1' }]
    await storeRows(api.questdb, 'cellular', [
      ...votesIn(truck, here, 10, { ...first, ...lost(ours) }, newestMs(2)),
      ...votesIn(truck, here, 10, { ...second, plmn: theirs }, newestMs(2)),
      ...votesIn(truck, there, 10, { ...first, plmn: ours }, newestMs(20)),
      ...votesIn(truck, there, 10, { ...second, ...lost(theirs) }, newestMs(20)),
      ...votesIn(van, here, 2, { plmn: half }, newestMs(2)),
      ...votesIn(van, here, 2, lost(half), newestMs(10)),
      ...votesIn(two, elsewhere, 6, { plmn: ours }, newestMs(2)),
      ...votesIn(two, elsewhere, 3, lost(theirs), newestMs(10)),
      ...[here, there].flatMap((h3) => votesIn({ ...truck, organizationId: other.id }, h3, 9, { plmn: never })),
    ])
    await refreshCoverage(api.questdb)
    await compared(organization)
    const { items } = (await list(organization.key)).body
    const found = ({ deviceId }: { deviceId: string }, modem: string | null) =>
      items.find(
        (item: { deviceId: string; modem: string | null }) => item.deviceId === deviceId && item.modem === modem,
      )
    const days = Math.round(20 / found(truck, 'wwan0').minutesPerDay)
    const estimate = (plmn: string, minutes: number, knownShare: number) => ({
      ...{ plmn, noServiceMinutesPerDay: perDay(minutes, days), knownShare },
    })
    expect(items).toHaveLength(4)
    // Without service here 10 of 10 min, there none.
    expect(found(truck, 'wwan0')).toMatchObject({
      ...{ plmn: ours, noServiceMinutesPerDay: perDay(10, days), bestPlmn: half, gainMinutesPerDay: perDay(5, days) },
      operators: [estimate(half, 5, 0.5), estimate(theirs, 10, 1)],
    })
    // Here ours never has service, and half has it in 2 of 4 votes. There ours always has it, and half is not known.
    expect(found(truck, 'wwan1')).toMatchObject({
      ...{ plmn: theirs, noServiceMinutesPerDay: perDay(10, days), bestPlmn: null, gainMinutesPerDay: 0 },
      operators: [estimate(ours, 10, 1), estimate(half, 15, 0.5)],
    })
    // All votes of the second SIM were without service: with it alone, nine minutes instead of three.
    expect(found(two, null)).toMatchObject({
      plmn: ours,
      bestPlmn: null,
      operators: [{ plmn: theirs }, { plmn: half }],
    })
    expect(found(two, null).operators[0].noServiceMinutesPerDay).toBeCloseTo(
      3 * found(two, null).noServiceMinutesPerDay,
      1,
    )
    expect(found(two, null).operators[1]).toMatchObject({ noServiceMinutesPerDay: null, knownShare: 0 })
  })

  test('200 without a comparison, with nothing of other organizations, deleted devices and former owners', async () => {
    const { organization, lost, served } = await newFleet()
    const other = await api.newOrganization({ plan: 'pro' })
    const empty = { items: [], asOf: null, window: null, total: { sims: 0, noServiceMinutesPerDay: 0, operators: [] } }
    expect((await list(other.key)).body).toMatchObject(empty)
    expect((await list(other.key, `orgId=${organization.id}`)).status).toBe(404)
    expect((await list(other.key, `deviceId=${lost}`)).body.items).toEqual([])
    await deleteDevice(api.services.pool, served)
    const both = await api.newKey([organization.id, other.id], ['fleet:read', 'device:transfer', 'device:read'])
    const moved = await api.call('POST', `/devices/${lost}/transfer`, { token: both, json: { toOrgId: other.id } })
    expect(moved.status).toBe(200)
    expect((await list(both)).body.total).toMatchObject({ sims: 1 })
    await compared(other)
    expect((await list(other.key)).body.items).toEqual([])
  })

  test('400 for unknown parameters, 403 without the scope or coverage in the plan', async () => {
    const { id, key } = await api.newOrganization({ plan: 'pro' })
    for (const query of ['status=ok', 'sinceMinutes=0', 'limit=201', 'deviceId=x', 'cursor=x'])
      expect((await list(key, query)).status, query).toBe(400)
    expect((await list(await api.newKey([id], ['device:read']), `orgId=${id}`)).status).toBe(403)
    const free = await api.newOrganization({ plan: 'free' })
    expect((await list(free.key)).body.code).toBe('plan_feature')
  })
})
