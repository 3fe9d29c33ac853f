import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { createDeviceStates } from '#telemetry-writer/states/device-states'
import { questdbConnection } from '#test/questdb'
import { storeRows } from '#test/telemetry-rows'
import { askForStoredTimes } from './sightings.ts'

let questdb: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(() => questdb.end())

const hourMs = 3_600_000

test('samples spread over months are looked up with few statements, each at its exact time', async () => {
  let statements = 0
  const counting: QuestdbSql = {
    ...questdb,
    queryArrays: (text, values) => {
      statements += 1
      return questdb.queryArrays(text, values)
    },
  }
  const [deviceId, organizationId] = [newId(), newId()]
  const nowMs = Date.now()
  const strewn = Array.from({ length: 900 }, (_, index) => nowMs - (index + 20) * 2 * hourMs)
  const stretch = Array.from({ length: 100 }, (_, index) => nowMs - 30 * hourMs - 500 - index * 1_000)
  const stored = [...strewn, ...stretch].filter((_, index) => index % 3 === 0)
  const near = strewn.slice(1, 2).map((tsMs) => tsMs + 1)
  const row = (tsMs: number) => ({ tsMs, deviceId, organizationId, receivedAtMs: nowMs - hourMs })
  await storeRows(questdb, 'system', [...stored, ...near].map(row))

  const states = createDeviceStates({
    questdb,
    generation: () => 0,
    position: () => 0,
    onFailure: () => {},
    activity: { statesRestored: 0 },
  })
  await states.load(new Map([[deviceId, 'vehicle']]), nowMs)
  const batch = {
    ...{ deviceId, organizationId, deviceClass: 'vehicle' as const, receivedAtMs: nowMs, oldestTsMs: 0 },
    ...{
      format: 'json' as const,
      sampleCount: 1_000,
      body: Buffer.alloc(0),
      firstSample: 0,
      position: 0,
      nextPosition: 1,
    },
  }
  const sample = (tsMs: number, index: number) => ({
    ...{ index, kind: 'system' as const, tsMs, tsCorrected: false, shiftMs: 0, sample: {} },
  })
  const samples = [...strewn, ...stretch].map(sample)
  const found = await askForStoredTimes(counting, [{ batch, samples }], states, 0)
  expect(samples.filter(({ tsMs }) => found.has(deviceId, 'system', '', tsMs)).map(({ tsMs }) => tsMs)).toEqual(stored)
  expect(statements).toBeLessThan(10)
})
