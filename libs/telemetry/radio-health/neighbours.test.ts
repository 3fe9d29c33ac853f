import fc from 'fast-check'
import { expect, it } from 'vitest'
import { medianOf } from './median.ts'
import { createNeighbours } from './neighbours.ts'

const anyRadio = fc.record({ device: fc.integer({ min: 0, max: 60 }), level: fc.integer({ min: -280, max: -100 }) })
const devicesIn = (radios: readonly { device: number }[]) => new Set(radios.map(({ device }) => device)).size

it('returns the median of the other devices, of which each has one voice', () => {
  const neighbours = createNeighbours()
  const anyCell = fc
    .array(anyRadio, { minLength: 3, maxLength: 150, size: 'max' })
    .filter((cell) => devicesIn(cell) > 2)
  fc.assert(
    fc.property(anyCell, (cell) => {
      const radios = cell.toSorted((a, b) => a.device - b.device)
      const references = new Float64Array(radios.length)
      neighbours.referencesOf(
        Float64Array.from(radios, ({ level }) => level / 2),
        Uint32Array.from(radios, ({ device }) => device),
        radios.length,
        references,
      )
      const expected = radios.map(({ device: own }) => {
        const others = Map.groupBy(
          radios.filter(({ device }) => device !== own),
          ({ device }) => device,
        )
        return medianOf([...others.values()].map((ofDevice) => medianOf(ofDevice.map(({ level }) => level / 2))))
      })
      expect([...references]).toEqual(expected)
    }),
  )
})

it('takes the mean of the middle two as the median of an even count', () => {
  expect([medianOf([3]), medianOf([4, 1]), medianOf([9, 1, 2]), medianOf([8, 1, 2, 3])]).toEqual([3, 2.5, 2, 2.5])
  expect(medianOf([])).toBeNaN()
})
