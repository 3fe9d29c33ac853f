import { describe, expect, test } from 'vitest'
import { type CopyState, chooseCopy } from './copy-choice.ts'

const sound: CopyState = { answers: true, lagMs: 3_000, soundForMs: 600_000 }
const dead: CopyState = { answers: false, lagMs: 3_000, soundForMs: 0 }
const lagging = (lagMs: number | undefined): CopyState => ({ answers: true, lagMs, soundForMs: 0 })
const recovered = (soundForMs: number): CopyState => ({ answers: true, lagMs: 3_000, soundForMs })

describe('the copy to read', () => {
  test.each([
    ['the first one, if all are sound', [sound, sound], 0, 0],
    ['the second one, when the first does not answer', [dead, sound], 0, 1],
    ['the second one, when the first lags 60 s', [lagging(60_000), sound], 0, 1],
    ['the second one, when the lag of the first is unknown', [lagging(undefined), sound], 0, 1],
    ['the first one, when it lags less than 60 s', [lagging(59_999), sound], 0, 0],
    ['still the second one, shortly after the first has recovered', [recovered(14_999), sound], 1, 1],
    ['the first one, when it has been sound for 15 s', [recovered(15_000), sound], 1, 0],
    ['the first one at once, when the second does not answer', [recovered(0), dead], 1, 0],
    ['never a later one while the current one is eligible', [lagging(59_999), sound, sound], 0, 0],
    ['the current one, when all lag and it answers', [lagging(90_000), lagging(70_000)], 0, 0],
    [
      'the one that lags least, when all lag and the current one is dead',
      [dead, lagging(90_000), lagging(70_000)],
      0,
      2,
    ],
    ['one whose lag is unknown rather than none', [dead, lagging(undefined)], 0, 1],
    ['the current one, when none answers', [dead, dead], 1, 1],
  ])('is %s', (_, states, current, chosen) => {
    expect(chooseCopy(states, current)).toBe(chosen)
  })
})
