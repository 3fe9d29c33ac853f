import { cellToParent, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { longOfH3 } from '#questdb/votes/h3-index'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice, transferDevice } from '#test/registered-device'
import { applied, refreshCoverage, type StoredRow, storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

const read = (organization: Organization, path: string) => api.call('GET', path, { token: organization.key })

const dwell = (organization: Organization, deviceId: string, agoMs: number, fields: Record<string, unknown> = {}) => {
  const tsMs = Date.now() - agoMs
  return {
    ...{ id: newId(), tsMs, receivedAtMs: tsMs, deviceId, organizationId: organization.id },
    ...{ departedAtMs: tsMs + 10 * minuteMs, lat: 50, lon: 50, radiusM: 5, fixCount: 2, gap: false },
    ...fields,
  }
}

/** Watches the statements that QuestDB is sent; `onQuery` is called before each. */
function watchQueries(onQuery: (text: string) => void): () => void {
  const { questdb } = api
  const { queryArrays } = questdb
  questdb.queryArrays = (text, ...rest) => {
    onQuery(text)
    return queryArrays(text, ...rest)
  }
  return () => {
    questdb.queryArrays = queryArrays
  }
}

const readsDwells = (text: string) => text.includes('FROM dwell')

describe('GET /fleet/dwells', () => {
  test('200 finds the one dwell in a bbox among many with one query', async () => {
    const organization = await api.newOrganization()
    const deviceId = await registerDevice(api.services.pool, organization.id)
    const inside = dwell(organization, deviceId, 20 * hourMs, { lat: 1, lon: 179.5 })
    const outside = Array.from({ length: 60 }, (_, index) => dwell(organization, deviceId, (index + 2) * 15 * minuteMs))
    await storeRows(api.questdb, 'dwell', [...outside, inside])
    const texts: string[] = []
    const stop = watchQueries((text) => texts.push(text))
    const found = await read(organization, '/fleet/dwells?limit=1&bbox=179,0,-179,2')
    stop()
    expect(found.body).toMatchObject({ items: [{ id: inside.id }], nextCursor: null })
    expect(texts.filter(readsDwells)).toHaveLength(1)
    expect((await read(organization, '/fleet/dwells?limit=1&bbox=-179,0,179,2')).body.items).toEqual([])
  })

  test('200 finds a dwell at the antimeridian in boxes of both sides', async () => {
    const organization = await api.newOrganization()
    const deviceId = await registerDevice(api.services.pool, organization.id)
    const stored = [180, -180].map((lon, index) => dwell(organization, deviceId, (index + 2) * hourMs, { lat: 1, lon }))
    await storeRows(api.questdb, 'dwell', stored)
    const ids = stored.map(({ id }) => id)
    for (const box of ['178,0,180,2', '-180,0,-178,2', '178,0,-178,2', '-180,0,180,2']) {
      const { items } = (await read(organization, `/fleet/dwells?bbox=${box}`)).body
      expect([box, items.map(({ id }: { id: string }) => id)]).toEqual([box, ids])
    }
    expect((await read(organization, '/fleet/dwells?bbox=-179,0,179,2')).body.items).toEqual([])
  })

  /** A device that was sold: its dwells from before are stored, but its new owner does not see them. */
  async function soldDevice(dwells: number) {
    const [seller, buyer] = [await api.newOrganization(), await api.newOrganization()]
    const deviceId = await registerDevice(api.services.pool, seller.id)
    await transferDevice(api.services.pool, deviceId, buyer.id, Date.now() - minuteMs)
    const hidden = Array.from({ length: dwells }, (_, index) => dwell(buyer, deviceId, (index + 2) * 2 * minuteMs))
    await storeRows(api.questdb, 'dwell', hidden)
    return buyer
  }

  test('200 ends a dwell with the transfer of its device for the organization that it left', async () => {
    const [seller, buyer] = [await api.newOrganization(), await api.newOrganization()]
    const [parked, left] = [
      await registerDevice(api.services.pool, seller.id),
      await registerDevice(api.services.pool, seller.id),
    ]
    const transferredAtMs = Date.now() - 2 * hourMs
    for (const deviceId of [parked, left]) await transferDevice(api.services.pool, deviceId, buyer.id, transferredAtMs)
    const leftAtMs = Date.now() - hourMs
    await storeRows(api.questdb, 'dwell', [
      dwell(seller, parked, 5 * hourMs, { departedAtMs: null }),
      dwell(seller, left, 4 * hourMs, { departedAtMs: leftAtMs, firstOutsideAtMs: leftAtMs + minuteMs }),
    ])
    const departedAt = new Date(transferredAtMs).toISOString()
    expect((await read(seller, '/fleet/dwells')).body.items).toMatchObject([
      { deviceId: left, departedAt, firstOutsideAt: null, durationS: 7_200 },
      { deviceId: parked, departedAt, firstOutsideAt: null, durationS: 10_800 },
    ])
    const idsFor = async (query: string) =>
      (await read(seller, `/fleet/dwells?${query}`)).body.items.map(({ deviceId }: { deviceId: string }) => deviceId)
    expect(await idsFor('ongoing=true')).toEqual([])
    expect(await idsFor('sinceMinutes=90')).toEqual([])
    expect(await idsFor(`minDurationS=${2.5 * 3_600}`)).toEqual([parked])
    expect((await read(seller, '/fleet/gps?include=dwells')).body.dwells).toMatchObject([
      { departedAt },
      { departedAt },
    ])
  })

  test('200 skips many hidden dwells with few queries', async () => {
    const buyer = await soldDevice(400)
    const texts: string[] = []
    const stop = watchQueries((text) => texts.push(text))
    expect((await read(buyer, '/fleet/dwells?limit=1')).body).toEqual({ items: [], nextCursor: null })
    stop()
    expect(texts.filter(readsDwells).length).toBeLessThanOrEqual(2)
  })

  test('starts no further query after its client has disconnected', async () => {
    const buyer = await soldDevice(10)
    const client = new AbortController()
    let queries = 0
    const stop = watchQueries((text) => {
      if (readsDwells(text)) queries++
      client.abort()
    })
    const answer = await api.fetch('/fleet/dwells?limit=1', {
      headers: { authorization: `Bearer ${buyer.key}` },
      signal: client.signal,
    })
    stop()
    expect(answer.status).toBe(499)
    expect(queries).toBe(1)
  })

  test('200 includes the signal of rows that arrived after the first request', async () => {
    const organization = await api.newOrganization()
    const deviceId = await registerDevice(api.services.pool, organization.id)
    const over = dwell(organization, deviceId, 3 * hourMs, { departedAtMs: Date.now() - hourMs })
    await storeRows(api.questdb, 'dwell', [over])
    const sample = (agoMs: number, rsrpDbm: number): StoredRow => ({
      ...{ tsMs: Date.now() - agoMs, deviceId, organizationId: organization.id },
      ...{ rat: 'lte', rsrpDbm, sinrDb: 3 },
    })
    const figure = async () => (await read(organization, '/fleet/dwells')).body.items[0].rsrpP50Dbm
    await storeRows(api.questdb, 'cellular', [sample(2.5 * hourMs, -110)])
    expect(await figure()).toBe(-110)
    await storeRows(api.questdb, 'cellular', [sample(2.4 * hourMs, -80), sample(2.3 * hourMs, -80)])
    await until('the figure is that of all rows', async () => (await figure()) === -80, 15_000)
  })

  test('400 for an impossible duration', async () => {
    const organization = await api.newOrganization()
    for (const query of ['minDurationS=1e300', 'minDurationS=34560001', 'minDurationS=-1']) {
      expect(await read(organization, `/fleet/dwells?${query}`)).toMatchObject({ status: 400 })
    }
    expect(await read(organization, '/fleet/dwells?minDurationS=34560000')).toMatchObject({ status: 200 })
  })
})

describe('dwells in fleet GPS', () => {
  test('200 lists each of very many dwells once, although they are read in pages', async () => {
    const organization = await api.newOrganization()
    const { questdb } = api
    const { pool } = api.services
    const deviceIds = [await registerDevice(pool, organization.id), await registerDevice(pool, organization.id)]
    // Two devices arrive at the same times, so that some page ends between equal arrivals.
    const dwellsEach = 20_025
    const latest = new Date(Date.now() - hourMs).toISOString()
    for (const deviceId of deviceIds) {
      await questdb.query(
        `INSERT INTO dwell (ts, device_id, org_id, received_at, id, departed_at, lat, lon, radius_m, fix_count, gap, withdrawn)
         SELECT dateadd('s', -2 * x::int, '${latest}'), '${deviceId}', '${organization.id}', now(),
                '${deviceId} ' || x, now(), 50.0, 50.0, 5.0, 2, false, false
         FROM long_sequence(${dwellsEach})`,
      )
    }
    await applied(questdb, 'dwell')
    const texts: string[] = []
    const stop = watchQueries((text) => texts.push(text))
    const { status, body } = await read(organization, '/fleet/gps?include=dwells')
    stop()
    expect(status).toBe(200)
    expect(body.dwells).toHaveLength(2 * dwellsEach)
    expect(new Set(body.dwells.map(({ id }: { id: string }) => id)).size).toBe(2 * dwellsEach)
    expect(texts.filter(readsDwells)).toHaveLength(3)
  })
})

describe('coverage of very many cells', () => {
  const cells = 50_001

  /** Adds votes of this many cells of resolution 10 in the Arctic, and one at each of these cells. */
  async function vote(organization: Organization, count: number, others: readonly string[] = []): Promise<void> {
    const { questdb } = api
    // An index holds its resolution in bits 52-55, and digits of three bits below; those of levels 11-15 are all ones.
    const firstCell = (0x8an << 52n) | 0x7fffn
    const columns = 'INSERT INTO cellular (ts, device_id, org_id, received_at, rat, rsrp_dbm, h3_5, h3_10)'
    const owner = `'${newId()}', '${organization.id}', now(), 'lte', -90`
    await questdb.query(
      `${columns} SELECT dateadd('u', x::int, dateadd('h', -1, now())), ${owner}, ${firstCell}L, ${firstCell}L + x * 32768L
       FROM long_sequence(${count})`,
    )
    for (const h3 of others)
      await questdb.query(
        `${columns} SELECT dateadd('h', -1, now()), ${owner}, ${longOfH3(cellToParent(h3, 5))}L, ${longOfH3(h3)}L
         FROM long_sequence(1)`,
      )
    await applied(questdb, 'cellular')
    await refreshCoverage(questdb)
  }

  test('200 for a large bbox with few cells, however many are outside', async () => {
    const organization = await api.newOrganization()
    const inside = latLngToCell(47, 5, 10)
    await vote(organization, 100_001, [inside])
    const found = await read(organization, '/fleet/coverage?h3Resolution=10&bbox=2,45,8,49')
    expect(found).toMatchObject({ status: 200, body: { items: [{ h3: inside, samples: 1 }] } })
  })

  test('400 for too many cells without a bbox, 200 for a resolution that fits', async () => {
    const organization = await api.newOrganization()
    await vote(organization, cells)
    for (const path of ['/fleet/coverage?h3Resolution=10', '/fleet/gps?zoom=15']) {
      expect(await read(organization, path)).toMatchObject({
        status: 400,
        body: { code: 'too_many_cells', maxCells: 50_000, errors: [{ pointer: 'h3Resolution' }] },
      })
    }
    const { status, body } = await read(organization, '/fleet/coverage')
    expect(status).toBe(200)
    expect(body.h3Resolution).toBeLessThan(10)
    expect(body.items.length).toBeLessThanOrEqual(5_000)
    const finer = (await read(organization, `/fleet/coverage?h3Resolution=${body.h3Resolution + 1}`)).body
    expect(finer.items.length).toBeGreaterThan(5_000)
    expect(finer.items.reduce((sum: number, { samples }: { samples: number }) => sum + samples, 0)).toBe(cells)
  })
})
