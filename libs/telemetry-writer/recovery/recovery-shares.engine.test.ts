import { expect, test } from 'vitest'
import { limitsAlone, limitsTogether, type RecoveryAmount, sharesOf, withSimilarTimes } from './recovery-shares.ts'

const nothing: RecoveryAmount = { fixes: 0, rows: 0, cellsCharacters: 0 }
const names = (count: number) => Array.from({ length: count }, (_, index) => `device-${index}`)

test('devices with little data share all statements', () => {
  const devices = names(500)
  expect(sharesOf(devices, () => ({ fixes: 20, rows: 20, cellsCharacters: 1_000 }))).toEqual([devices])
  expect(sharesOf(devices, () => nothing)).toEqual([devices])
  expect(sharesOf([], () => nothing)).toEqual([])
})

test.each(['fixes', 'rows', 'cellsCharacters'] as const)('a share stays within its limit of %s', (name) => {
  const devices = names(500)
  const shares = sharesOf(devices, () => ({ ...nothing, [name]: limitsAlone[name] }))
  expect(shares.flat()).toEqual(devices)
  for (const share of shares) expect(share.length * limitsAlone[name]).toBeLessThanOrEqual(limitsTogether[name])
})

test.each(['fixes', 'rows', 'cellsCharacters'] as const)(
  'a device with more %s than its limit has its own share',
  (name) => {
    const amount = { ...nothing, [name]: limitsAlone[name] + 1 }
    expect(sharesOf(['a', 'loud', 'b'], (id) => (id === 'loud' ? amount : nothing))).toEqual([['a', 'b'], ['loud']])
  },
)

test('devices are grouped by times that are close to the first of their group', () => {
  expect(
    withSimilarTimes(
      [
        ['late', 250],
        ['first', 0],
        ['second', 100],
        ['third', 101],
      ],
      100,
    ),
  ).toEqual([
    [
      ['first', 0],
      ['second', 100],
    ],
    [['third', 101]],
    [['late', 250]],
  ])
  expect(withSimilarTimes([], 100)).toEqual([])
})
