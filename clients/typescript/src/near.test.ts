import { expect, test } from 'vitest'
import { nearText } from './near.ts'

test.each([
  [12.3, 44, '12 km north-east of Arnhem'],
  [1, 0, '1 km north of Arnhem'],
  [4.9, 338, '5 km north of Arnhem'],
  [812.4, 270, '812 km west of Arnhem'],
  [0.9, 180, 'in Arnhem'],
])('%d km at %d degrees is %s', (distanceKm, bearing, text) => {
  expect(nearText({ name: 'Arnhem', country: 'NL', distanceKm, bearing })).toBe(text)
})
