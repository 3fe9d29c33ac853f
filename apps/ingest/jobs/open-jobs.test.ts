import { expect, test } from 'vitest'
import type { Queryable } from '#postgres/pool'
import { createOpenJobs } from './open-jobs.ts'

/** A database in which a query takes a second of the clock, and during which something else happens. */
function slowDatabase() {
  const state = { nowMs: 0, queries: 0, open: new Map<string, number>(), meanwhile: () => {} }
  const query = async () => {
    state.queries += 1
    const rows = [...state.open].map(([device_id, count]) => ({ device_id, count }))
    state.meanwhile()
    state.nowMs += 1_000
    return { rows }
  }
  const jobs = createOpenJobs({ query } as unknown as Queryable, () => state.nowMs)
  return { state, jobs }
}

test('counts that are slow to read are read for a twentieth of the time', async () => {
  const { state, jobs } = slowDatabase()
  state.open.set('a', 2)
  await jobs.refresh()
  expect(jobs.countFor('a')).toBe(2)
  state.open.set('a', 0)
  for (; state.nowMs < 20_000; state.nowMs += 1_000) await jobs.refresh()
  expect(state.queries).toBe(1)
  state.nowMs = 21_000
  await jobs.refresh()
  expect([state.queries, jobs.countFor('a')]).toEqual([2, 0])
})

test('a job that is announced counts at once, and also if it was too late for the queries', async () => {
  const { state, jobs } = slowDatabase()
  jobs.note(['early'])
  expect([jobs.countFor('early'), jobs.countFor('other')]).toEqual([1, 0])
  state.meanwhile = () => jobs.note(['late'])
  await jobs.refresh()
  // The early one was already taken when the queries ran.
  expect([jobs.countFor('early'), jobs.countFor('late')]).toEqual([0, 1])
})
