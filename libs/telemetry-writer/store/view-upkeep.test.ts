import { expect, test, vi } from 'vitest'
import type { Logger } from '#http/request-log'
import type { QuestdbSql } from '#questdb/server/sql'
import { startViewUpkeep } from './view-upkeep.ts'

test('views are paced although one of them cannot be read', async () => {
  const asked: string[] = []
  const questdb = {
    async query(text: string) {
      asked.push(text)
      if (text.startsWith('SELECT ts')) throw new Error('The view cannot be read.')
      return [{ name: 'coverage_vote_1m', started_at: null }]
    },
  } as unknown as QuestdbSql
  const warn = vi.fn()
  const upkeep = startViewUpkeep(questdb, { warn } as unknown as Logger)
  await expect.poll(() => asked.some((text) => text.includes('timer_interval'))).toBe(true)
  await upkeep.stop()
  expect(warn).toHaveBeenCalledOnce()
})
