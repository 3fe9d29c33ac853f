import { expect, test } from 'vitest'
import { resolutionForZoom } from './coverage-resolution.ts'

test('each zoom of a map has its resolution of cells', () => {
  const resolutions = Array.from({ length: 17 }, (_, zoom) => resolutionForZoom(zoom))
  expect(resolutions).toEqual([4, 4, 4, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 9, 10, 10, 10])
})
