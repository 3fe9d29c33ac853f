import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { Secret } from '#core/secret'
import { openIlpTransport } from '#questdb/server/ilp-transport'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import type { DeadRow } from '#telemetry-log/dead-letters/dead-letters'
import { questdbConnection } from '#test/questdb'
import { until } from '#test/until'
import { type BatchRows, fates, type RowOutcome } from './row-batch.ts'
import { createRowStore, type RowStore } from './store-rows.ts'

let questdb: QuestdbSql
let store: RowStore
const dead: DeadRow[] = []
const retries: string[] = []
const ending = new AbortController()
const connection = () => {
  const { httpUrl, user, password } = questdbConnection()
  return { url: httpUrl, user, password: new Secret(password) }
}

beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  store = createRowStore({
    transport: openIlpTransport(connection()),
    saveDeadRows: (rows) => {
      dead.push(...rows)
    },
    repairSchema: async () => {},
    onRetry: (detail) => retries.push(detail),
    signal: ending.signal,
  })
})
afterAll(() => questdb.end())

function batchOf(lines: string[], fateOf: (index: number) => RowOutcome): BatchRows {
  const rowEnds: number[] = []
  for (const line of lines) rowEnds.push((rowEnds.at(-1) ?? 0) + Buffer.byteLength(line))
  const reasons = lines.map(() => 'fresh' as const)
  return {
    table: 'system',
    bytes: Buffer.from(lines.join('')),
    rowEnds,
    reasons,
    fates: lines.map((_, index) => fateOf(index)),
  }
}

const startMs = Date.now() - 60_000
const goodLine = (deviceId: string, index: number) =>
  `system,device_id=${deviceId},org_id=o cpu_pct=${index},firmware="a\\\nb" ${startMs + index}000t\n`
const storedCount = async (deviceId: string) =>
  (await questdb.query('SELECT ts FROM system WHERE device_id = $1', [deviceId])).length

test('only rows that cannot be stored become dead letters, and each is counted by its kind', async () => {
  const deviceId = newId()
  const bad = new Set([3, 17, 18, 40])
  const lines = Array.from({ length: 41 }, (_, index) =>
    bad.has(index)
      ? `system,device_id=${deviceId},org_id=o cpu_pct="much" ${startMs + index}000t\n`
      : goodLine(deviceId, index),
  )
  const counts = await store.store(
    batchOf(lines, (index) => (index === 18 ? fates.uncounted : index % 2 === 0 ? fates.stored : fates.replaced)),
  )
  expect(counts).toEqual({ stored: 19, replaced: 18, deadLettered: 3 })
  expect(dead.map(({ row }) => Buffer.from(row, 'base64').toString())).toEqual([...bad].map((index) => lines[index]))
  expect(dead[0]).toMatchObject({ table: 'system', key: `system,device_id=${deviceId},org_id=o ${startMs + 3}000t` })
  expect(dead[0]?.reason).toMatch(/^400 /)
  await until('the good rows are there', async () => (await storedCount(deviceId)) === 37)
})

test('a batch that is rejected as a whole is kept and retried, not written to the dead letters', async () => {
  dead.length = 0
  const lines = Array.from({ length: 20 }, (_, index) => `no_such_table,device_id=x v=1 ${startMs + index}000t\n`)
  const storing = store.store(batchOf(lines, () => fates.stored))
  storing.catch(() => {})
  await until('it says so', async () => retries.length > 0)
  expect(dead).toEqual([])
  ending.abort()
  await expect(storing).rejects.toThrow()
})
