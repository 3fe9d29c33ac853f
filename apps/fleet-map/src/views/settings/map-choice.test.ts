import { expect, test } from 'vitest'
import type { MapSettings } from '../../api/schemas.ts'
import { choiceOf, settingsOf, whoSees } from './map-choice.ts'

const offline: MapSettings = { background: { kind: 'offline' }, satellite: null, origins: [] }
const satellite = { tilesUrl: 'https://images.example.com/{z}/{x}/{y}.jpg', attribution: 'Images', maxZoom: 18 }
const own: MapSettings = {
  background: { kind: 'style', styleUrl: 'https://tiles.example.com/light', darkStyleUrl: 'https://dark.example.com/' },
  satellite,
  origins: ['https://fonts.example.com', 'https://sprites.example.com'],
}

test.each([
  offline,
  own,
  { ...offline, satellite },
  { ...offline, background: { kind: 'pmtiles' as const, file: '/m.pmtiles' } },
])('the form keeps %j', (settings) => {
  expect(settingsOf(choiceOf(settings))).toEqual(settings)
})

test('OpenFreeMap is one choice without an address to type', () => {
  const chosen = settingsOf({ ...choiceOf(offline), background: 'openfreemap' })
  expect(chosen.background).toMatchObject({ kind: 'style', styleUrl: expect.stringContaining('openfreemap.org') })
  expect(choiceOf(chosen)).toMatchObject({ background: 'openfreemap', styleUrl: '' })
})

test('says who learns which area a reader looks at', () => {
  expect(whoSees(offline)).toBe('No other server learns which area a reader looks at.')
  expect(whoSees(own)).toContain(
    'Whoever opens the map loads it from tiles.example.com, dark.example.com, fonts.example.com, sprites.example.com,',
  )
  expect(whoSees({ ...offline, satellite })).toMatch(
    /^Whoever chooses the satellite images loads it from images\.example\.com/,
  )
})
