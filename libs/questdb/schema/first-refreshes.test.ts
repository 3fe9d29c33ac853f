import { expect, test } from 'vitest'
import type { QuestdbSql } from '#questdb/server/sql'
import { createFirstRefreshes } from './first-refreshes.ts'

test('a view whose refresh fails is refreshed less and less often', async () => {
  let refreshes = 0
  const questdb = {
    async query(text: string) {
      if (text.startsWith('SELECT view_name')) return [{ name: 'coverage_vote_1m' }]
      if (text.startsWith('SELECT ts')) return []
      refreshes += 1
      throw new Error('The view is invalid.')
    },
  } as unknown as QuestdbSql
  const refreshFirst = createFirstRefreshes(questdb)
  const refreshesIn = async (minute: number) => {
    const before = refreshes
    for (let second = 0; second < 60; second += 2) await refreshFirst((60 * minute + second) * 1_000).catch(() => {})
    return refreshes - before
  }
  expect(await refreshesIn(0)).toBeGreaterThan(3)
  await refreshesIn(1)
  expect(await refreshesIn(2)).toBe(1)
})

const votes = 'coverage_vote_1m'
const hours = 'coverage_1h'

/** A database with one vote view and one view of hours. `report` adds samples; each refresh counts what its base has by then. */
function newDatabase() {
  const rows = { cellular: 0, [votes]: 0, [hours]: 0 }
  const baseOf = { [votes]: 'cellular', [hours]: votes } as const
  const isOutdated = (view: keyof typeof baseOf) => rows[view] < rows[baseOf[view]]
  const refreshes: string[] = []
  return {
    rows,
    refreshes,
    report: () => {
      rows.cellular += 1
    },
    questdb: {
      async query(text: string) {
        const view = text.includes(votes) ? votes : hours
        if (text.startsWith('SELECT view_name'))
          return ([votes, hours] as const).filter(isOutdated).map((name) => ({ name }))
        if (text.startsWith('SELECT ts')) return rows[view] > 0 ? [{}] : []
        refreshes.push(view)
        rows[view] = rows[baseOf[view]]
        return []
      },
    } as unknown as QuestdbSql,
  }
}

test('a new installation whose devices report one after the other has the coverage of all soon', async () => {
  const { questdb, rows, refreshes, report } = newDatabase()
  const refreshFirst = createFirstRefreshes(questdb)
  for (let second = 0; second <= 30; second += 2) {
    if (second < 20) report()
    await refreshFirst(second * 1_000)
  }
  expect(rows[hours]).toBe(10)
  expect(refreshes.length).toBeLessThan(10)

  refreshes.length = 0
  for (let second = 32; second < 3_600; second += 2) {
    report()
    await refreshFirst(second * 1_000)
  }
  expect(refreshes.length).toBeLessThan(4)
})

test('an installation with coverage is not refreshed', async () => {
  const { questdb, rows, refreshes, report } = newDatabase()
  rows[votes] = rows[hours] = rows.cellular = 5
  const refreshFirst = createFirstRefreshes(questdb)
  for (let second = 0; second < 600; second += 2) {
    report()
    await refreshFirst(second * 1_000)
  }
  expect(refreshes).toEqual([])
})
