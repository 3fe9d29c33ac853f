import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { questdbConnection } from '#test/questdb'
import { storeRows } from '#test/telemetry-rows'
import { readCellularRows } from './device-tracks.ts'

let questdb: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(() => questdb.end())

/** Returns whether V8 stores the members of an object by their positions, and not in a hash table. */
function hasFixedShape(value: unknown): boolean {
  setFlagsFromString('--allow-natives-syntax')
  return runInThisContext('(value) => %HasFastProperties(value)')(value)
}

test('RF rows have all columns and one shape', async () => {
  const [deviceId, organizationId] = [newId(), newId()]
  const tsMs = Date.now()
  await storeRows(questdb, 'cellular', [
    { tsMs, deviceId, organizationId, rsrpDbm: -95, h3Res10: 5n },
    { tsMs: tsMs + 1, deviceId, organizationId, rat: 'lte', cells: '[]', alignment: 'none' },
  ])
  const range = { fromMs: tsMs, toMs: tsMs + 1 }
  const [first, second] = (await readCellularRows(questdb, [deviceId], range, { limit: 10 })).get(deviceId) ?? []
  expect(first).toMatchObject({ tsMs, organizationId, rat: null, h3Res10: 5n })
  expect(first?.rest.toString('latin1')).toContain('rsrp_dbm')
  expect(second).toMatchObject({ tsMs: tsMs + 1, rat: 'lte', h3Res10: null })
  expect(second?.rest.toString('latin1')).toContain('rat=lte,ts_corrected=f,cells="[]"')
  expect(Object.keys(first ?? {})).toEqual(Object.keys(second ?? {}))
  expect([hasFixedShape(first), hasFixedShape(second)]).toEqual([true, true])
})
