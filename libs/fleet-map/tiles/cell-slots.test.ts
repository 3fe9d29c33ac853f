import fc from 'fast-check'
import { cellToLatLng, latLngToCell } from 'h3-js'
import { expect, test } from 'vitest'
import { createCellSlots } from '#fleet-map/tiles/cell-slots'

const position = fc.tuple(
  fc.double({ min: -90, max: 90, noNaN: true }),
  fc.double({ min: -180, max: 180, noNaN: true }),
)
const step = fc.oneof(
  { weight: 3, arbitrary: position.map((at) => ({ at })) },
  fc.nat().map((freed) => ({ freed })),
)

test('each cell in use has one slot of its own, also after others became free', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9 }), fc.array(step, { maxLength: 400 }), (resolution, steps) => {
      const slots = createCellSlots(resolution)
      const expected = new Map<string, number>()
      for (const one of steps) {
        if ('at' in one) {
          const cell = latLngToCell(...one.at, resolution)
          const slot = slots.slotAt(...one.at)
          expect(slots.cellOf(slot)).toBe(cell)
          expect(expected.get(cell) ?? slot).toBe(slot)
          expected.set(cell, slot)
        } else {
          const [cell, slot] = [...expected][one.freed % Math.max(1, expected.size)] ?? []
          if (cell === undefined || slot === undefined) continue
          slots.free(slot)
          expected.delete(cell)
        }
        expect(new Set(expected.values()).size).toBe(expected.size)
        expect(slots.cells()).toBe(expected.size)
      }
      for (const [cell, slot] of expected) expect(slots.slotAt(...cellToLatLng(cell))).toBe(slot)
    }),
  )
})

test('thousands of cells keep their slots while the table grows, and freed slots are used again', () => {
  const slots = createCellSlots(7)
  const places = Array.from({ length: 5_000 }, (_, index): [number, number] => [40 + (index % 100) / 5, index / 50])
  const first = places.map((at) => slots.slotAt(...at))
  expect(places.map((at) => slots.slotAt(...at))).toEqual(first)
  const before = slots.bytes()
  for (const slot of new Set(first)) slots.free(slot)
  expect(slots.cells()).toBe(0)
  for (const [lat, lon] of places) slots.slotAt(-lat, lon)
  expect(slots.bytes()).toBe(before)
})
