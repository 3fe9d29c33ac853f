import { expect, test } from 'vitest'
import { sharedRuns } from '#core/shared-runs'

function countedRuns() {
  const runs: { finish(result: number): void; fail(): void }[] = []
  const read = sharedRuns(
    () =>
      new Promise<number>((resolve, reject) => {
        runs.push({ finish: resolve, fail: () => reject(new Error('away')) })
      }),
  )
  return { runs, read }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('callers during a run share the next one, which begins when the run ends', async () => {
  const { runs, read } = countedRuns()
  const first = read()
  const others = [read(), read(), read()]
  expect(runs).toHaveLength(1)
  runs[0]?.finish(1)
  expect(await first).toBe(1)
  await settle()
  expect(runs).toHaveLength(2)
  const later = read()
  runs[1]?.finish(2)
  expect(await Promise.all(others)).toEqual([2, 2, 2])
  await settle()
  expect(runs).toHaveLength(3)
  runs[2]?.finish(3)
  expect(await later).toBe(3)
})

test('a failed run is told to its own callers only', async () => {
  const { runs, read } = countedRuns()
  const first = read()
  const second = read()
  runs[0]?.fail()
  await expect(first).rejects.toThrow('away')
  await settle()
  runs[1]?.finish(2)
  expect(await second).toBe(2)
})

test('a caller after the end of all runs gets a new one', async () => {
  const { runs, read } = countedRuns()
  const first = read()
  runs[0]?.finish(1)
  await first
  await settle()
  void read()
  expect(runs).toHaveLength(2)
})
