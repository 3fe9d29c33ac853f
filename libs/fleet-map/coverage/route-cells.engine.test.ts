import { cellToChildren, cellToParent, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { createRouteCells } from '#fleet-map/coverage/route-cells'
import { onlyCopy } from '#questdb/copies/copies'
import { createReaders } from '#questdb/copies/readers'
import { applySchema } from '#questdb/schema/schema'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { votesIn } from '#test/coverage-rows'
import { questdbConnection } from '#test/questdb'
import { applied, refreshCoverage, storeRows } from '#test/telemetry-rows'

let questdb: QuestdbSql
beforeAll(async () => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'route-cells.test' })
  await applySchema(questdb, { ttlDays: 90 })
})
afterAll(() => questdb.end())

const minuteMs = 60_000
const chainOf = (h3: string) => [h3, ...[9, 8, 7].map((resolution) => cellToParent(h3, resolution))]

/** Returns a reader, and how many statements were sent through it. */
function countedReader() {
  let statements = 0
  const counted: QuestdbSql = {
    ...questdb,
    queryArrays(text, values, signal) {
      statements++
      return questdb.queryArrays(text, values, signal)
    },
  }
  return { reader: createReaders({ current: () => onlyCopy(counted) }, 8).of('test'), statements: () => statements }
}

test('keeps the forecasts of points for a minute, for the same votes only', async () => {
  const voters = [newId(), newId()].map((organizationId) => ({ organizationId, deviceId: newId() }))
  const [known, beside] = [latLngToCell(43.1, 2.1, 10), latLngToCell(43.3, 2.3, 10)]
  await storeRows(
    questdb,
    'cellular',
    voters.flatMap((voter, index) => [...votesIn(voter, known, 6 + index), ...votesIn(voter, beside, 8)]),
  )
  await refreshCoverage(questdb)
  let nowMs = Date.now()
  const routeCells = createRouteCells({ clock: () => nowMs })
  const { reader, statements } = countedReader()
  const votesOf = ({ organizationId }: { organizationId: string }) => ({
    key: organizationId,
    filters: async () => [{ organizationId, fromMs: Date.now() - 30 * minuteMs }],
  })
  const [own, other] = voters.map(votesOf)
  if (!own || !other) throw new Error('There are two organizations.')
  const samplesOf = async (votes: typeof own, ...cells: string[]) => {
    const forecasts = await routeCells.forecasts(reader, votes, cells.map(chainOf))
    return cells.map((h3) => forecasts.get(h3)?.samples)
  }

  expect(await samplesOf(own, known)).toEqual([6])
  const sent = statements()
  expect(await samplesOf(own, known)).toEqual([6])
  expect(statements()).toBe(sent)
  expect(await samplesOf(own, beside, known)).toEqual([8, 6])
  expect(await samplesOf(other, known)).toEqual([7])

  const sentForAll = statements()
  nowMs += minuteMs + 1
  expect(await samplesOf(own, known)).toEqual([6])
  expect(statements()).toBeGreaterThan(sentForAll)
})

/** Stores a vote of each of `devices` devices in a cell in each of `minutes` minutes. */
async function storeManyVotes(organizationId: string, h3: string, devices: number, minutes: number): Promise<string[]> {
  const deviceIds = Array.from({ length: devices }, newId)
  for (const deviceId of deviceIds) {
    await questdb.query(
      `INSERT INTO cellular (ts, device_id, org_id, received_at, rat, plmn, rsrp_dbm, sinr_db, h3_10, h3_5)
       SELECT dateadd('m', -x::int, '${new Date().toISOString()}'::timestamp), '${deviceId}', '${organizationId}',
              systimestamp(), 'lte', '27201', -90 - x % 20, x % 30, ${BigInt(`0x${h3}`)}, ${BigInt(`0x${cellToParent(h3, 5)}`)}
       FROM long_sequence(${minutes})`,
    )
  }
  await applied(questdb, 'cellular')
  return deviceIds
}

test('forecasts points with too many votes to send them row by row', { timeout: 240_000 }, async () => {
  const organizationId = newId()
  const many = latLngToCell(42.2, 4.4, 10)
  const few = cellToChildren(cellToParent(many, 9), 10).find((h3) => h3 !== many) ?? ''
  const deviceIds = await storeManyVotes(organizationId, many, 20, 6_500)
  const another = newId()
  await storeRows(questdb, 'cellular', votesIn({ organizationId, deviceId: another }, few, 2, { rsrpDbm: -70 }))
  await refreshCoverage(questdb, 120_000)
  // Votes of chosen devices are not counted by the hour.
  const filters = [{ organizationId, fromMs: Date.now() - 240 * 3_600_000, deviceIds: [...deviceIds, another] }]
  const { reader } = countedReader()
  const forecasts = await createRouteCells({ clock: Date.now }).forecasts(
    reader,
    { key: 'many', filters: async () => filters },
    [many, few].map(chainOf),
  )
  expect(forecasts.get(many)).toMatchObject({ h3: many, samples: 130_000, devices: 20, rsrpDbm: { p50: -100 } })
  // Two votes are not enough, so the cell around both describes it.
  expect(forecasts.get(few)).toMatchObject({ h3: cellToParent(few, 9), samples: 130_002, devices: 21 })
})
