import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { questdbConnection } from '#test/questdb'
import { storeRows } from '#test/telemetry-rows'
import { readNewestTimes } from './device-times.ts'
import { readLastDwells, readLastPositions } from './track-summaries.ts'

let questdb: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(() => questdb.end())

const minuteMs = 60_000
const organizationId = newId()
const devices = Array.from({ length: 3 }, () => newId())
const [first = '', second = '', third = ''] = devices
const rounds = 60
/** An hour of yesterday, in which the devices take turns. */
const startMs = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 86_400_000
const timeOf = (round: number, device: number) => startMs + round * minuteMs + device * 1_000
const reported = (columns: (round: number) => Record<string, unknown>) =>
  Array.from({ length: rounds }, (_, round) =>
    devices.map((deviceId, device) => ({ tsMs: timeOf(round, device), deviceId, organizationId, ...columns(round) })),
  ).flat()
/** Rows in the same partition before the search begins are what makes QuestDB miss. */
const sinceMs = timeOf(rounds / 2, 0)
const endMs = timeOf(rounds, 0)

test('finds the newest row of each device when the search begins within a day', async () => {
  await storeRows(
    questdb,
    'system',
    reported(() => ({ cpuPct: 1 })),
  )
  const newest = async (receivedBeforeMs: number) => {
    const found = await readNewestTimes(questdb, devices, { sinceMs, receivedBeforeMs })
    return new Map(found.map(({ deviceId, tsMs }) => [deviceId, tsMs]))
  }
  expect(await newest(endMs)).toEqual(new Map(devices.map((id, device) => [id, timeOf(rounds - 1, device)])))
  // The newest rows of the second and third were received later.
  expect(await newest(timeOf(rounds - 1, 1))).toEqual(
    new Map([
      [first, timeOf(rounds - 1, 0)],
      [second, timeOf(rounds - 2, 1)],
      [third, timeOf(rounds - 2, 2)],
    ]),
  )
  // More than an hour before the newest row.
  await storeRows(questdb, 'system', [{ tsMs: endMs + 2 * 3_600_000, deviceId: first, organizationId }])
  expect((await newest(endMs)).get(first)).toBe(timeOf(rounds - 1, 0))
  expect(await newest(sinceMs)).toEqual(new Map())
})

test('finds the last position of devices whose newest row is no usable fix', async () => {
  await storeRows(
    questdb,
    'location',
    reported((round) => ({ lat: round / 10, lon: 1, usable: round < 50 })).filter(
      ({ deviceId, tsMs }) => deviceId !== third || tsMs < timeOf(45, 0),
    ),
  )
  const positions = await readLastPositions(questdb, devices, { beforeMs: endMs, receivedBeforeMs: timeOf(48, 0) })
  expect(positions).toEqual(
    new Map([
      [first, { tsMs: timeOf(47, 0), lat: 4.7, lon: 1 }],
      [second, { tsMs: timeOf(47, 1), lat: 4.7, lon: 1 }],
      [third, { tsMs: timeOf(44, 2), lat: 4.4, lon: 1 }],
    ]),
  )
  // QuestDB shares compiled statements among connections.
  for (const id of devices) {
    const connection = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test', maxConnections: 1 })
    const alone = await readLastPositions(connection, [id], { beforeMs: timeOf(20, 0), receivedBeforeMs: endMs })
    await connection.end()
    expect([...alone]).toMatchObject([[id, { tsMs: timeOf(19, devices.indexOf(id)) }]])
  }
})

test('finds the last dwell of each device that was not withdrawn', async () => {
  const dwells = reported((round) => ({ id: newId(), lat: round / 10, lon: 1, radiusM: 5, withdrawn: round > 50 }))
  await storeRows(
    questdb,
    'dwell',
    dwells.map((row) => ({ ...row, lastInsideAtMs: row.tsMs })),
  )
  const found = await readLastDwells(questdb, devices, { fromMs: sinceMs, toMs: endMs })
  expect(new Map([...found].map(([id, { arrivedAtMs }]) => [id, arrivedAtMs]))).toEqual(
    new Map(devices.map((id, device) => [id, timeOf(50, device)])),
  )
})
