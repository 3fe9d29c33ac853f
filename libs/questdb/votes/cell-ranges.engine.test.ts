import { cellToChildren, cellToParent, gridDisk, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { votesIn } from '#test/coverage-rows'
import { questdbConnection } from '#test/questdb'
import { refreshCoverage, storeRows } from '#test/telemetry-rows'
import { cellRanges } from './cell-ranges.ts'
import { longOfH3 } from './h3-index.ts'
import { isOfOrganization } from './organization-votes.ts'

let questdb: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'cell-ranges.test' })
})
afterAll(() => questdb.end())

test('divides votes into ranges, and a large area into its cells', async () => {
  const [organizationId, deviceId] = [crypto.randomUUID(), crypto.randomUUID()]
  const area = cellToParent(latLngToCell(46.2, 7.3, 10), 7)
  const [busy, calm] = gridDisk(area, 1) as [string, string]
  const [first, second, third] = cellToChildren(busy, 10) as [string, string, string]
  const [other] = cellToChildren(calm, 10) as [string]
  const votes = [first, second, third, other].flatMap((cell) => votesIn({ organizationId, deviceId }, cell, 10))
  await storeRows(questdb, 'cellular', votes)
  await refreshCoverage(questdb)
  const condition = isOfOrganization({ organizationId, fromMs: 0, toMs: Date.now() + 60_000 })
  const rangesOf = async (maxVotes: number) => {
    const ranges = await cellRanges(questdb, condition, maxVotes)
    return ranges.map((range) =>
      [first, second, third, other].filter((cell) => {
        const long = BigInt(longOfH3(cell))
        return long >= range.first && long < range.end
      }),
    )
  }
  expect((await rangesOf(100)).map(({ length }) => length)).toEqual([4])
  const sorted = (ranges: string[][]) => ranges.map((cells) => cells.toSorted()).sort()
  expect(sorted(await rangesOf(30))).toEqual(sorted([[first, second, third], [other]]))
  const split = await rangesOf(20)
  expect(split.flat().toSorted()).toEqual([first, second, third, other].toSorted())
  expect(split.every((cells) => cells.length > 0 && cells.length <= 2)).toBe(true)
  expect((await rangesOf(5)).map(({ length }) => length)).toEqual([1, 1, 1, 1])
})
