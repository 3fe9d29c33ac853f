import { expect, test } from 'vitest'
import { drawForecast } from '../../apps/fleet-map/src/route/drawn.ts'
import { type LonLat, routeCutter, routeLengthM } from '../../apps/fleet-map/src/route/geometry.ts'
import { decodeLines, encodeLines } from '../../apps/fleet-map/src/route/polyline.ts'
import { readCorners } from '../../apps/fleet-map/src/views/places/area-text.ts'

const here: LonLat[] = [
  [-8.47, 51.9],
  [-8.46, 51.9],
]
const there: LonLat[] = [
  [-6.26, 53.34],
  [-6.25, 53.34],
  [-6.25, 53.35],
]

test('an address keeps the lines of a route apart', () => {
  expect(decodeLines(encodeLines([here]))).toEqual([here])
  expect(decodeLines(encodeLines([here, there]))).toEqual([here, there])
  expect(decodeLines('')).toEqual([])
  expect(decodeLines(`${encodeLines([here])}.`)).toEqual([])
})

test('a route is cut within its lines', () => {
  const [hereM, lengthM] = [routeLengthM([here]), routeLengthM([here, there])]
  const cut = routeCutter([here, there])
  expect(cut(0, hereM)).toEqual(here)
  const rest = cut(hereM, lengthM)
  expect(rest).toHaveLength(3)
  expect(rest[0]).toEqual(there[0])
})

test('the map draws no line across the gap of a route', () => {
  const [hereM, lengthM] = [routeLengthM([here]), routeLengthM([here, there])]
  const unknown = {
    lat: 0,
    lon: 0,
    h3: '',
    h3Resolution: 10,
    samples: 0,
    devices: 0,
    serviceRatio: null,
    quality: null,
  }
  const rest = { confidence: 'none' as const, rsrpDbm: null, sinrDb: null, byRat: {}, byPlmn: {} }
  const parts = [
    { fromM: 0, toM: hereM },
    { fromM: hereM, toM: lengthM },
  ]
  const { stretches } = drawForecast([here, there], {
    ...{ asOf: '', window: { from: '', to: '', limitedBy: null }, lengthM, everyM: 100, stretches: parts },
    segments: parts.map((part) => ({ ...unknown, ...rest, ...part })),
    summary: { knownM: 0, deadM: 0, poorM: 0, deadZones: [], byPlmn: {}, recommendedPlmn: null },
  })
  expect(stretches.map(({ path }) => path.length)).toEqual([2, 3])
})

test.for([
  [
    'a Polygon with altitudes',
    {
      type: 'Polygon',
      coordinates: [
        [
          [4, 52, 0],
          [5, 52, 0],
          [5, 53, 0],
          [4, 52, 0],
        ],
      ],
    },
  ],
  [
    'a MultiPolygon of one polygon',
    {
      type: 'MultiPolygon',
      coordinates: [
        [
          [
            [4, 52],
            [5, 52],
            [5, 53],
            [4, 52],
          ],
        ],
      ],
    },
  ],
] as const)('corners are read from %s, alone and in a collection beside points', ([, geometry]) => {
  const features = [{ type: 'Point', coordinates: [1, 2] }, geometry].map((one) => ({ type: 'Feature', geometry: one }))
  for (const sent of [geometry, { type: 'FeatureCollection', features }]) {
    expect(readCorners(JSON.stringify(sent))).toEqual([
      [4, 52],
      [5, 52],
      [5, 53],
    ])
  }
  const twice = { type: 'FeatureCollection', features: [...features, ...features] }
  expect(readCorners(JSON.stringify(twice))).toBe('The GeoJSON has 2 polygons. An area is one polygon.')
})

test('a line without one of its two numbers is no corner', () => {
  for (const line of ['51.9,', ', 4.05', '51.9', '51.9, north', '51.9, 181', '51.9, 4.05, 3'])
    expect(readCorners(`51, 4\n${line}\n52, 5`)).toBe('Line 2 is not “latitude, longitude”.')
})
