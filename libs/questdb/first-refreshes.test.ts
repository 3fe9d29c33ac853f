import { expect, test } from 'vitest'
import { createFirstRefreshes } from '#questdb/first-refreshes'
import type { QuestdbSql } from '#questdb/sql'

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
