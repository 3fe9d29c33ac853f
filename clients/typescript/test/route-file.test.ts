import { expect, test } from 'vitest'
import { readRoute } from '../src/cli/route-file.ts'

const expected = [
  [-8.29, 51.84],
  [-8.28, 51.85],
]

test.for([
  [
    'a GPX track',
    '<gpx><trk><trkseg><trkpt lat="51.84" lon="-8.29"><ele>1</ele></trkpt><trkpt lon=\'-8.28\' lat=\'51.85\'/></trkseg></trk></gpx>',
  ],
  ['a GPX route', '<gpx><rte><rtept\n lat="51.84" lon="-8.29"/><rtept lat="51.85" lon="-8.28"/></rte></gpx>'],
  ['a GeoJSON line', '{"type": "LineString", "coordinates": [[-8.29, 51.84, 7], [-8.28, 51.85]]}'],
  [
    'a GeoJSON feature',
    '{"type": "Feature", "geometry": {"type": "LineString", "coordinates": [[-8.29, 51.84], [-8.28, 51.85]]}}',
  ],
  [
    'a GeoJSON collection',
    '{"type": "FeatureCollection", "features": [{"geometry": {"type": "Point"}}, {"geometry": {"type": "LineString", "coordinates": [[-8.29, 51.84], [-8.28, 51.85]]}}]}',
  ],
] as const)('reads %s', ([, text]) => {
  expect(readRoute(text)).toEqual(expected)
})

test.for([
  ['{', /neither GPX nor JSON/],
  ['serial,name', /has no route/],
  ['<gpx><wpt lat="1" lon="2"/></gpx>', /has no route/],
  ['<gpx><trkpt lat="north" lon="2"/><trkpt lat="1" lon="2"/></gpx>', /no valid lat/],
] as const)('refuses %s', ([text, reason]) => {
  expect(() => readRoute(text)).toThrow(reason)
})
