import { latLngToCell } from 'h3-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { dwellsTouching } from '#questdb/fleet/dwells'
import { applySchema } from '#questdb/schema/schema'
import { countVoters, countVotes } from '#questdb/votes/coverage'
import type { VoteFilter } from '#questdb/votes/coverage-source'
import { deadCells } from '#questdb/votes/dead-cells'
import { votesIn } from '#test/coverage-rows'
import { questdbConnection } from '#test/questdb'
import { refreshCoverage, storeRows } from '#test/telemetry-rows'
import { deviceLists } from './device-list.ts'
import { openQuestdbSql, type QuestdbSql } from './sql.ts'

let questdb: QuestdbSql
beforeAll(async () => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'device-list.test' })
  await applySchema(questdb, { ttlDays: 90 })
})
afterAll(() => questdb.end())

const hourMs = 3_600_000
const organizationId = newId()
const [first, last, other] = [newId(), newId(), newId()]
// The first and the last device are in different statements.
const chosen = [first, ...Array.from({ length: 99_998 }, newId), last]

test('reads the votes of a group of 100,000 devices, and of no others', { timeout: 120_000 }, async () => {
  const h3 = latLngToCell(45.1, 6.1, 10)
  const votes = (deviceId: string, count: number, rat: string) =>
    votesIn({ organizationId, deviceId }, h3, count, { rat, rsrpDbm: -80 })
  await storeRows(questdb, 'cellular', [
    ...votes(first, 4, 'lte'),
    ...votes(last, 3, 'none'),
    ...votes(other, 50, 'lte'),
  ])
  await refreshCoverage(questdb)
  const filter = { organizationId, fromMs: Date.now() - 2 * hourMs }
  const filters: VoteFilter[] = deviceLists(chosen).map((deviceIds) => ({ ...filter, deviceIds }))
  expect(filters.length).toBeGreaterThan(1)

  const counts = await Promise.all(filters.map((some) => countVotes(questdb, some, 10, 100)))
  expect(counts.flat().reduce((sum, count) => sum + count.votes, 0)).toBe(7)
  expect(await countVoters(questdb, filters, 10)).toEqual(new Map([[h3, 2]]))
  // Neither list alone has the 5 votes of a dead cell.
  expect(await deadCells(questdb, filters)).toMatchObject([{ samples: 7, moments: 7, darkMoments: 3 }])
  expect(await deadCells(questdb, [filter])).toEqual([])
})

test('lists the dwells of a group of 100,000 devices, and of no others', { timeout: 120_000 }, async () => {
  const nowMs = Date.now()
  const dwell = (id: string, deviceId: string, hoursAgo: number) => ({
    ...{ id, deviceId, organizationId, tsMs: nowMs - hoursAgo * hourMs, departedAtMs: null },
    ...{ lat: 45.1, lon: 6.1, radiusM: 20, fixCount: 3, gap: false, withdrawn: false },
  })
  await storeRows(questdb, 'dwell', [dwell('old', first, 3), dwell('new', last, 1), dwell('foreign', other, 2)])
  const range = { organizationId, fromMs: nowMs - 9 * hourMs, toMs: nowMs, nowMs, deviceIds: chosen }
  const idsOf = async (limit?: number) => (await dwellsTouching(questdb, { ...range, limit })).map(({ id }) => id)
  expect(await idsOf()).toEqual(['new', 'old'])
  expect(await idsOf(1)).toEqual(['new'])
  expect(await dwellsTouching(questdb, { ...range, deviceIds: ['not a UUID'] })).toEqual([])
})
