import { expect, test } from 'vitest'
import type { VoteCount } from './coverage.ts'
import { coverageCells } from './coverage-cells.ts'

test('computes cells of many votes in slices and lets other work run in between', async () => {
  const votes = Array.from({ length: 200_000 }, (_, index): VoteCount => {
    const cell = index % 20_000
    return { h3: cell.toString(16), rat: 'lte', plmn: '27201', rsrpBin: -80 - (index % 40), votes: 1, lastAtMs: index }
  })
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const cells = await coverageCells(votes, [], new Map([['1', 3]]))
  isDone = true
  expect(turns).toBeGreaterThan(5)
  expect(cells).toHaveLength(20_000)
  expect(cells.find(({ h3 }) => h3 === '1')).toMatchObject({ samples: 10, devices: 3, serviceRatio: 1 })
})
