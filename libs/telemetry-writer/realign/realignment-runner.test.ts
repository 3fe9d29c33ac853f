import { expect, test } from 'vitest'
import { afterLast, pauseAfter } from './realignment-runner.ts'

test('the next turn is due early if devices are left, otherwise after five seconds', () => {
  expect(pauseAfter(600, true)).toBe(2_400)
  expect(pauseAfter(2_000, true)).toBe(5_000)
  expect(pauseAfter(100, false)).toBe(5_000)
})

test('devices that always have late data do not delay others', () => {
  let waiting = ['a', 'b', 'x', 'y'].map((deviceId): [string, null] => [deviceId, null])
  const served: string[] = []
  for (let turn = 0; turn < 8; turn++) {
    const deviceId = afterLast(waiting, served.at(-1))[0]?.[0] ?? ''
    served.push(deviceId)
    // `a` and `b` get late data again at once. The others are done.
    if ('xy'.includes(deviceId)) waiting = waiting.filter(([id]) => id !== deviceId)
  }
  expect(served.join('')).toBe('abxabyab')
})
