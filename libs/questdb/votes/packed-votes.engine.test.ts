import { cellToChildren, cellToParent, latLngToCell } from 'h3-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { applySchema } from '#questdb/schema/schema'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { addTally, emptySignalTally, type SignalTally } from '#telemetry/coverage/signal-tally'
import { votesIn } from '#test/coverage-rows'
import { votesByLevel } from '#test/level-counts'
import { questdbConnection } from '#test/questdb'
import { applied, refreshCoverage, storeRows } from '#test/telemetry-rows'
import type { VoteFilter } from './coverage-source.ts'
import { readPackedVotes } from './packed-votes.ts'
import { signalTallies } from './signal-tallies.ts'

let questdb: QuestdbSql
beforeAll(async () => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'packed-votes.test' })
  await applySchema(questdb, { ttlDays: 90 })
})
afterAll(() => questdb.end())

const resolutions = [10, 9, 8, 7]
const chainOf = (h3: string) => [h3, ...resolutions.slice(1).map((resolution) => cellToParent(h3, resolution))]
const neighbours = (lat: number, lon: number) => cellToChildren(cellToParent(latLngToCell(lat, lon, 10), 8), 10)
const hoursAgo = (hours: number) => Date.now() - hours * 3_600_000

/** Votes by level, in an order that does not depend on how they were read. */
const countsOf = ({ samples, inService, groups, sinr }: SignalTally): unknown => [
  ...[samples, inService, votesByLevel(sinr)],
  groups.map(({ rat, plmn, votes, rsrp }) => JSON.stringify([rat, plmn, votes, votesByLevel(rsrp)])).sort(),
]

/** Reads packed votes. Returns the tallies around all points. */
async function packedTallies(filters: readonly VoteFilter[], cells: readonly string[], maxRows?: number) {
  const tallies = new Map<string, SignalTally>()
  const packed = await readPackedVotes(questdb, filters, cells.map(chainOf), maxRows)
  for (const area of packed.areas) {
    await area.addUp((_chain, around) => {
      // The tallies of `around` are valid during the call only.
      for (const [h3, tally] of around) {
        const copy = emptySignalTally()
        addTally(copy, tally)
        tallies.set(h3, copy)
      }
    })
  }
  return { tallies, omitted: packed.omitted.map(([h3]) => h3) }
}

/** Expects each packed tally to have the counts that QuestDB returns for its cell alone. */
async function expectSameCounts(filters: readonly VoteFilter[], tallies: ReadonlyMap<string, SignalTally>) {
  for (const [h3, tally] of tallies) {
    const resolution = Number.parseInt(h3.charAt(1), 16)
    const counted = await signalTallies(questdb, filters, resolution, [h3])
    expect([h3, countsOf(tally)]).toEqual([h3, countsOf(counted.get(h3) ?? emptySignalTally())])
  }
}

test('reads the same votes in one scan as cell by cell, of the own organization only', async () => {
  const [own, other] = [newId(), newId()].map((organizationId) => ({ organizationId, deviceId: newId() }))
  if (!own || !other) throw new Error('There are two voters.')
  const cells = neighbours(47.1, 3.2)
  const [first = '', second = '', third = '', beside = ''] = cells
  await storeRows(questdb, 'cellular', [
    ...votesIn(own, first, 40, { rsrpDbm: -97.6, sinrDb: -3 }, hoursAgo(30)),
    ...votesIn(own, second, 3, { rat: 'none', plmn: '27202' }, hoursAgo(2)),
    ...votesIn(own, second, 2, { rat: null, plmn: null, rsrpDbm: null, sinrDb: 21 }),
    ...votesIn(own, third, 1, { rat: 'nr-nsa', rsrpDbm: -156, sinrDb: null }, hoursAgo(9)),
    ...votesIn(own, third, 2, { plmn: '27202', rsrpDbm: -31, sinrDb: 40 }, hoursAgo(50)),
    ...votesIn(own, beside, 7, { rsrpDbm: -80 }, hoursAgo(12)),
    ...votesIn(other, second, 9, { rsrpDbm: -60 }),
  ])
  await refreshCoverage(questdb)
  const asked = [first, second, third, cells[9] ?? '', latLngToCell(47.4, 3.9, 10)]
  for (const [fromMs, plmn, samples] of [
    [hoursAgo(72), undefined, 5],
    [hoursAgo(31.5), undefined, 5],
    [hoursAgo(72), '27202', 3],
    [Math.floor(hoursAgo(13) / 3_600_000) * 3_600_000, undefined, 5],
  ] as const) {
    const filters = [{ organizationId: own.organizationId, fromMs, plmn }]
    const { tallies, omitted } = await packedTallies(filters, asked)
    expect([omitted, asked.filter((h3) => !tallies.has(h3))]).toEqual([[], []])
    expect(tallies.get(second)?.samples).toBe(samples)
    await expectSameCounts(filters, tallies)
  }
  const both = [own, other].map(({ organizationId }) => ({ organizationId, fromMs: hoursAgo(72) }))
  const { tallies } = await packedTallies(both, asked)
  expect(tallies.get(second)?.samples).toBe(14)
  await expectSameCounts(both, tallies)
})

/** Stores a vote of each of `devices` devices in each of `minutes` minutes, in turns in these cells. */
async function storeManyVotes(organizationId: string, cells: readonly string[], devices: number, minutes: number) {
  const deviceIds = Array.from({ length: devices }, newId)
  for (const [index, deviceId] of deviceIds.entries()) {
    const h3 = cells[index % cells.length] ?? ''
    await questdb.query(
      `INSERT INTO cellular (ts, device_id, org_id, received_at, rat, plmn, rsrp_dbm, sinr_db, h3_10, h3_5)
       SELECT dateadd('m', -x::int, '${new Date().toISOString()}'::timestamp), '${deviceId}', '${organizationId}',
              systimestamp(), 'lte', '27201', -90 - x % 20, x % 30, ${BigInt(`0x${h3}`)}, ${BigInt(`0x${cellToParent(h3, 5)}`)}
       FROM long_sequence(${minutes})`,
    )
  }
  await applied(questdb, 'cellular')
  await refreshCoverage(questdb, 120_000)
  return deviceIds
}

test('omits points with too many votes to send them row by row', { timeout: 240_000 }, async () => {
  const organizationId = newId()
  const [many, one, few] = [
    neighbours(45.2, 5.1).slice(0, 13),
    latLngToCell(44.1, 5.2, 10),
    latLngToCell(46.4, 5.5, 10),
  ]
  const votersOfMany = await storeManyVotes(organizationId, many, 39, 6_500)
  // All votes of one RAT and operator in one cell, with more text than QuestDB puts into a value.
  const votersOfOne = await storeManyVotes(organizationId, [one], 30, 6_500)
  const deviceIds = [...votersOfMany, ...votersOfOne]
  await storeRows(questdb, 'cellular', votesIn({ organizationId, deviceId: deviceIds[0] ?? '' }, few, 4))
  await refreshCoverage(questdb, 120_000)
  // Votes of chosen devices are not counted by the hour.
  const filters = [{ organizationId, fromMs: hoursAgo(240), deviceIds }]
  expect(await packedTallies(filters, many, 250_000)).toEqual({ tallies: new Map(), omitted: many })
  expect(await packedTallies(filters, [one])).toEqual({ tallies: new Map(), omitted: [one] })
  expect((await packedTallies(filters, [few])).tallies.get(few)?.samples).toBe(4)
})
