import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { applySchema } from '#questdb/schema/schema'
import { views } from '#questdb/schema/views'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { type TableName, tables } from '#telemetry/rows/tables'
import { questdbConnection } from '#test/questdb'
import { refreshCoverage, storeRows } from '#test/telemetry-rows'
import { eraseFromCopies, eraseTelemetry } from './erasure.ts'

let questdb: QuestdbSql
beforeAll(async () => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'erasure.test' })
  await applySchema(questdb, { ttlDays: 90 })
})
afterAll(() => questdb.end())

const names = Object.keys(tables) as TableName[]
const h3Res10 = '621960197418418175'
const h3Res5 = '599411683085877247'
const values: Record<TableName, Record<string, unknown>> = {
  connection: { imsi: 'canary-imsi', iccid: 'canary-iccid', wanIp: '192.0.2.7' },
  cellular: { rat: 'lte', rsrpDbm: -90, lat: 51.5, lon: -8.5, alignedLat: 51.5, alignedLon: -8.5, h3Res10, h3Res5 },
  system: { firmware: 'canary-firmware', cpuPct: 12 },
  location: { lat: 51.5, lon: -8.5, usable: true },
  dwell: { id: 'canary-dwell', lat: 51.5, lon: -8.5, radiusM: 40, fixCount: 5 },
}

async function report(deviceId: string, organizationId: string): Promise<void> {
  const nowMs = Date.now()
  const times = [nowMs - 3 * 86_400_000, nowMs - 60_000, nowMs]
  for (const name of names) {
    const rows = times.map((tsMs) => ({ tsMs, deviceId, organizationId, ...values[name] }))
    await storeRows(questdb, name, rows)
  }
}

const rowsOf = (table: string, deviceId: string) =>
  questdb.query<Record<string, unknown>>(`SELECT * FROM ${table} WHERE device_id = $1`, [deviceId])

test('erases every value of the device and none of another', async () => {
  const [erased, kept, organizationId] = [newId(), newId(), newId()]
  await report(erased, organizationId)
  await report(kept, organizationId)
  expect(await eraseTelemetry(questdb, [erased, newId()])).toBe(3 * names.length)
  for (const name of names) {
    const left = await rowsOf(name, erased)
    expect(left).toHaveLength(3)
    for (const { ts: _ts, device_id, org_id, ...rest } of left) {
      expect([device_id, org_id]).toEqual([erased, organizationId])
      const withdrawn = name === 'dwell' ? 'withdrawn' : undefined
      const values = Object.entries(rest).filter(
        ([key, value]) => value !== null && value !== false && key !== withdrawn,
      )
      expect(values).toEqual([])
    }
    expect(JSON.stringify(await rowsOf(name, kept))).toMatch(/canary|51\.5/)
  }
  expect(await eraseTelemetry(questdb, [erased])).toBe(0)
})

test('removes the votes of the device from the coverage views, which remain valid', async () => {
  const [erased, kept, organizationId] = [newId(), newId(), newId()]
  await report(erased, organizationId)
  await report(kept, organizationId)
  await refreshCoverage(questdb)
  const votes = async () => {
    const [row] = await questdb.query<{ votes: string }>('SELECT sum(votes) votes FROM coverage_1h WHERE org_id = $1', [
      organizationId,
    ])
    const devices = await questdb.query('SELECT DISTINCT device_id FROM coverage_device_1h WHERE org_id = $1', [
      organizationId,
    ])
    return { votes: Number(row?.votes), devices: devices.length }
  }
  const before = await votes()
  expect(before.devices).toBe(2)
  await eraseTelemetry(questdb, [erased])
  await refreshCoverage(questdb)
  expect(await votes()).toEqual({ votes: before.votes / 2, devices: 1 })
  const states = await questdb.query<{ view_status: string }>('SELECT view_status FROM materialized_views()')
  expect(states.map(({ view_status }) => view_status)).toEqual(views.map(() => 'valid'))
})

test('rows that arrive after an erasure are erased by the next one', async () => {
  const [deviceId, organizationId] = [newId(), newId()]
  await report(deviceId, organizationId)
  await eraseTelemetry(questdb, [deviceId])
  await storeRows(questdb, 'location', [{ tsMs: Date.now(), deviceId, organizationId, ...values.location }])
  expect(await eraseTelemetry(questdb, [deviceId])).toBe(1)
})

test('a copy that does not respond leaves the others erased, and the erasure is not done', async () => {
  const [erased, organizationId] = [newId(), newId()]
  await report(erased, organizationId)
  const dead = openQuestdbSql('postgresql://127.0.0.1:9/qdb', { applicationName: 'erasure.test' })
  await expect(eraseFromCopies([dead, questdb], [erased])).rejects.toThrow('ECONNREFUSED')
  const [left] = await rowsOf('system', erased)
  expect(left).toMatchObject({ firmware: null, received_at: null })
  await dead.end()
})
