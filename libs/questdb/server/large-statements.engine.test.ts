import { randomUUID } from 'node:crypto'
import { cellToChildren, latLngToCell } from 'h3-js'
import { expect, onTestFinished, test } from 'vitest'
import { applySchema } from '#questdb/schema/schema'
import { votersOfCells } from '#questdb/votes/route-voters'
import { startTestCopy } from '#test/questdb-copy'

const statements = 60

test('statements with many different cells do not fill the heap of QuestDB', { timeout: 240_000 }, async () => {
  const { questdb, stop } = await startTestCopy('large')
  onTestFinished(stop)
  await applySchema(questdb, { ttlDays: 30 })
  const filter = { organizationId: randomUUID(), fromMs: Date.now() - 86_400_000 }
  for (let statement = 0; statement < statements; statement++) {
    const cells = cellToChildren(latLngToCell(50, statement, 5), 10).map((h3) => ({ h3, h3Resolution: 10 }))
    expect(await votersOfCells(questdb, [filter], cells)).toEqual(new Map())
  }
})
