import { expect, test } from 'vitest'
import { repeat, resolvesWithin } from './schedule.ts'

const never = 3_600_000

test('repeat runs again at once while there is more to do, and after a failure only when woken', async () => {
  const errors: unknown[] = []
  const runs: (() => void)[] = []
  const started = () => new Promise<void>((resolve) => runs.push(resolve))
  const [third, fourth] = [started(), started()]
  let count = 0
  const repeating = repeat(
    never,
    async () => {
      count += 1
      if (count >= 3) runs.shift()?.()
      if (count === 3) throw new Error('failed')
      return count < 3
    },
    (error) => errors.push(error),
  )
  await third
  repeating.wake()
  await fourth
  expect(errors).toMatchObject([{ message: 'failed' }])
  await repeating.stop()
  expect(count).toBe(4)
})

test('a wake during a run skips the next pause', async () => {
  const gate = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  let count = 0
  const repeating = repeat(
    never,
    async () => {
      count += 1
      if (count === 1) await gate.promise
      if (count === 2) second.resolve()
    },
    () => {},
  )
  repeating.wake()
  gate.resolve()
  await second.promise
  await repeating.stop()
  expect(count).toBe(2)
})

test('stop waits for the run in progress', async () => {
  const gate = Promise.withResolvers<void>()
  let ended = false
  const repeating = repeat(
    never,
    async () => {
      await gate.promise
      ended = true
    },
    () => {},
  )
  const stopped = repeating.stop()
  gate.resolve()
  await stopped
  expect(ended).toBe(true)
})

test('resolvesWithin tells a resolved promise from a late one and passes a rejection on', async () => {
  expect(await resolvesWithin(Promise.resolve(), never)).toBe(true)
  expect(await resolvesWithin(new Promise(() => {}), 1)).toBe(false)
  await expect(resolvesWithin(Promise.reject(new Error('broken')), never)).rejects.toThrow('broken')
})
