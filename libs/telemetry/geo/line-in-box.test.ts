import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BoundingBox } from './geo.ts'
import { touches } from './line-in-box.ts'

const box: BoundingBox = [10, 50, 12, 51]
const line = (...positions: [lon: number, lat: number][]) => positions.map(([lon, lat]) => ({ lat, lon }))

test.each([
  ['ends inside', line([0, 50.5], [11, 50.5]), true],
  ['crosses it between two points', line([9, 50.5], [13, 50.6]), true],
  ['crosses a corner', line([9.5, 50.2], [10.5, 49.2], [10.5, 49.1]), false],
  ['cuts a corner', line([9.5, 50.6], [10.6, 49.5]), true],
  ['runs along a side', line([10, 40], [10, 60]), true],
  ['passes beside it', line([9, 40], [9, 60]), false],
  ['touches a corner', line([9, 51], [10, 51]), true],
  ['is one point', line([10, 50]), true],
  ['is one point outside', line([10, 49.9]), false],
])('a line that %s', (_name, points, expected) => {
  expect(touches(box, points)).toBe(expected)
})

test('a line and a box across the antimeridian', () => {
  const across = line([179, 10], [-179, 10])
  expect(touches([178, 0, -178, 20], across)).toBe(true)
  expect(touches([179.5, 0, 180, 20], across)).toBe(true)
  expect(touches([-180, 0, -179.5, 20], across)).toBe(true)
  expect(touches([-10, 0, 10, 20], across)).toBe(false)
  expect(touches([178, 0, -178, 20], line([170, 10], [171, 10]))).toBe(false)
})

test('a line with a point in the box touches it, and one on one side of it does not', () => {
  const inside = fc.tuple(fc.double({ min: 10, max: 12, noNaN: true }), fc.double({ min: 50, max: 51, noNaN: true }))
  const anywhere = fc.tuple(
    fc.double({ min: -60, max: 60, noNaN: true }),
    fc.double({ min: -80, max: 80, noNaN: true }),
  )
  fc.assert(
    fc.property(fc.array(anywhere), inside, fc.array(anywhere), (before, point, after) =>
      touches(box, line(...before, point, ...after)),
    ),
  )
  const west = fc.tuple(fc.double({ min: -60, max: 9.9, noNaN: true }), fc.double({ min: -80, max: 80, noNaN: true }))
  fc.assert(fc.property(fc.array(west), (points) => !touches(box, line(...points))))
})
