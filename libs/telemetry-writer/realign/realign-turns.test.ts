import { expect, test } from 'vitest'
import { createRealignTurns } from './realign-turns.ts'

const dirty = (...deviceIds: string[]) => deviceIds.map((deviceId): [string, null] => [deviceId, null])
const idsOf = (devices: [string, null][]) => devices.map(([deviceId]) => deviceId).join('')

test('the next turn is due early if devices are left, otherwise after five seconds', () => {
  const turns = createRealignTurns(0)
  expect([turns.isDue(4_999), turns.isDue(5_000)]).toEqual([false, true])
  turns.ended({ startedMs: 5_000, endedMs: 5_600, lastDeviceId: 'a', isLeftOver: true })
  expect([turns.isDue(7_999), turns.isDue(8_000)]).toEqual([false, true])
  turns.ended({ startedMs: 8_000, endedMs: 8_100, lastDeviceId: 'b', isLeftOver: false })
  expect([turns.isDue(13_099), turns.isDue(13_100)]).toEqual([false, true])
})

test('devices that always have late data do not delay others', () => {
  const turns = createRealignTurns(0)
  let waiting = dirty('a', 'b', 'x', 'y')
  const served: string[] = []
  for (let turn = 0; turn < 8; turn++) {
    const deviceId = idsOf(turns.inOrder(waiting)).charAt(0)
    served.push(deviceId)
    turns.ended({ startedMs: 0, endedMs: 0, lastDeviceId: deviceId, isLeftOver: true })
    // `a` and `b` get late data again at once. The others are done.
    if ('xy'.includes(deviceId)) waiting = waiting.filter(([id]) => id !== deviceId)
  }
  expect(served.join('')).toBe('abxabyab')
})
