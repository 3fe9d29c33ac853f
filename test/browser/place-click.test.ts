import { expect, test } from 'vitest'
import { clickedPlace } from '../../apps/fleet-map/src/map/place-click.ts'
import type { AreaShape, Bounds } from '../../apps/fleet-map/src/map/surface.ts'

const square = (id: string, halfDegrees: number): AreaShape => ({
  id,
  selected: false,
  ring: [
    [-halfDegrees, -halfDegrees],
    [halfDegrees, -halfDegrees],
    [halfDegrees, halfDegrees],
    [-halfDegrees, halfDegrees],
    [-halfDegrees, -halfDegrees],
  ],
})
const view: Bounds = [-5, -3, 5, 3]

test('opens the smallest of the places under the pointer', () => {
  expect(clickedPlace([square('port', 2), square('berth', 0.1), square('terminal', 1)], view)).toBe('berth')
})

test('opens no place that contains the whole view', () => {
  expect(clickedPlace([square('country', 20)], view)).toBeUndefined()
  expect(clickedPlace([square('country', 20), square('port', 2)], view)).toBe('port')
})

test('opens no outline without an id, such as one that is being drawn', () => {
  const { id: _, ...drawn } = square('', 1)
  expect(clickedPlace([drawn], view)).toBeUndefined()
})
