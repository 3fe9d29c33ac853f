import { expect, test } from 'vitest'
import { fieldMissing, readFieldBytes } from '../../../test/support/field.ts'
import { readRouteFile } from '../src/route/route-file.ts'

const read = (text: string) => readRouteFile(new TextEncoder().encode(text))
const json = (value: unknown) => read(JSON.stringify(value))

const west = [-8.29, 51.84]
const middle = [-8.28, 51.85]
const east = [-8.27, 51.86]
const line = { type: 'LineString', coordinates: [west, middle] }
const feature = (geometry: unknown) => ({ type: 'Feature', properties: { coordTimes: [1] }, geometry })
const trackPoints = '<trkpt lat="51.84" lon="-8.29"><ele>1</ele></trkpt><trkpt lon=\'-8.28\' lat=\'51.85\'/>'
const track = (points = trackPoints) => `<gpx><trk><trkseg>${points}</trkseg></trk></gpx>`

/** A text in UTF-16 with this byte order. */
function utf16(text: string, isLittleEndian: boolean): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(text.length * 2))
  for (let index = 0; index < text.length; index++) bytes.setUint16(index * 2, text.charCodeAt(index), isLittleEndian)
  return new Uint8Array(bytes.buffer)
}

test.for([
  ['a GPX track', track()],
  ['a GPX route', '<gpx><rte><rtept\n lat="51.84" lon="-8.29"/><rtept lat = " 51.85 " lon="-828e-2"/></rte></gpx>'],
  [
    'a prefix',
    `<x:gpx xmlns:x="…"><x:trk><x:trkseg>${trackPoints.replaceAll('trkpt', 'x:trkpt')}</x:trkseg></x:trk></x:gpx>`,
  ],
  ['a declaration and a document type', `\uFEFF\n<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY a "<b>">]>${track()}`],
  [
    'points in comments and CDATA',
    track(`<!-- <trkpt lat="0" lon="0"/> -->${trackPoints}<![CDATA[<trkpt lat="0" lon="0"/>]]>`),
  ],
  ['a tag in an attribute', track(trackPoints).replace('<trk>', '<trk src="a > b" n=\'"\'>')],
  ['character references', track(trackPoints.replace('51.84', '&#53;1&#x2e;84'))],
  [
    'points of extensions',
    track(trackPoints.replace('<ele>1</ele>', '<extensions><trk><trkseg><trkpt/></trkseg></trk></extensions>')),
  ],
  [
    'a GeoJSON line with altitudes and measures',
    JSON.stringify({
      ...line,
      bbox: [1],
      crs: {},
      coordinates: [
        [...west, 7, 1],
        [...middle, null],
      ],
    }),
  ],
  ['a MultiLineString', JSON.stringify({ type: 'MultiLineString', coordinates: [[west, middle]] })],
  ['a Feature', JSON.stringify(feature(line))],
  ['a FeatureCollection', JSON.stringify({ type: 'FeatureCollection', features: [feature(null), feature(line)] })],
  ['a GeometryCollection', JSON.stringify(feature({ type: 'GeometryCollection', geometries: [line] }))],
] as const)('reads %s', ([, text]) => {
  expect(read(text)).toEqual({ lines: [[west, middle]], notes: [] })
})

test('reads UTF-16 with and without a byte order mark', () => {
  for (const text of [track(), `\uFEFF${track()}`, JSON.stringify(line)]) {
    for (const isLittleEndian of [true, false]) {
      expect(readRouteFile(utf16(text, isLittleEndian)).lines).toEqual([[west, middle]])
    }
  }
})

test('reads names in another encoding than UTF-8', () => {
  const latin = Buffer.from(track().replace('<trk>', '<trk><name>Größe</name>'), 'latin1')
  expect(readRouteFile(latin).lines).toEqual([[west, middle]])
})

test('keeps segments, tracks and lines apart', () => {
  const segment = `<trkseg>${trackPoints}</trkseg>`
  const lines = [[west, middle], [west, middle], [west, middle]] // biome-ignore format: one look
  expect(read(`<gpx><trk>${segment}${segment}</trk><trk>${segment}</trk></gpx>`)).toEqual({ lines, notes: [] })
  const parts = {
    type: 'MultiLineString',
    coordinates: [
      [west, middle],
      [middle, east],
    ],
  }
  const far = feature({ type: 'LineString', coordinates: [east, west] })
  expect(json({ type: 'FeatureCollection', features: [feature(parts), far] }).lines).toEqual([
    [west, middle],
    [middle, east],
    [east, west],
  ])
})

test('holds longitudes up to 180°, and turns those beyond', () => {
  const across = (...longitudes: number[]) =>
    json({ type: 'LineString', coordinates: longitudes.map((lon) => [lon, -17]) }).lines[0]?.map(([lon]) => lon)
  expect(across(180, -180, 179.5)).toEqual([180, -180, 179.5])
  expect(across(179.5, 180.5, -180.5, 190)).toEqual([179.5, -179.5, 179.5, -170])
})

test('says what was skipped', () => {
  const extra = '<wpt lat="1" lon="2"/><rte><rtept lat="1" lon="2"/></rte>'
  expect(read(track().replace('<gpx>', `<gpx>${extra}`)).notes).toEqual([
    'Skipped: 1 waypoint, 1 route beside the tracks.',
  ])
  const parked = '<trk><trkseg/><trkseg><trkpt lat="1" lon="2"/><trkpt lat="1" lon="2"/></trkseg></trk>'
  expect(read(track().replace('</gpx>', `${parked}</gpx>`)).notes).toEqual([
    'Skipped: 2 lines without two different points.',
  ])
  // A track that does not move is not the route.
  const planned = '<rte><rtept lat="51.84" lon="-8.29"/><rtept lat="51.85" lon="-8.28"/></rte>'
  expect(read(`<gpx>${planned}${parked}</gpx>`)).toEqual({
    ...{ lines: [[west, middle]], notes: ['Skipped: 2 lines without two different points.'] },
  })
  const point = feature({ type: 'Point', coordinates: west })
  expect(json({ type: 'FeatureCollection', features: [point, point, feature(line)] }).notes).toEqual([
    'Skipped: 2 Points.',
  ])
})

test('thins a route of too many points, keeps the ends of each line, and says so', () => {
  const along = (count: number, lat: number) => Array.from({ length: count }, (_, index) => [index / 1_000, lat])
  const sent = [along(7_200, 1), along(2, 2), along(6, 3)]
  const { lines, notes } = json({ type: 'MultiLineString', coordinates: sent })
  expect(lines.map((kept) => [kept[0], kept.at(-1)])).toEqual(sent.map((all) => [all[0], all.at(-1)]))
  expect(lines.flat()).toHaveLength(3_607)
  expect(notes).toEqual([
    'The file has 7,208 points, and a route at most 5,000 points. 3,607 points were used: one in 2.',
  ])
  expect(json({ type: 'LineString', coordinates: along(5_000, 1) }).notes).toEqual([])
  const short = Array.from({ length: 2_501 }, () => [west, middle])
  expect(() => json({ type: 'MultiLineString', coordinates: short })).toThrow('The file has 2,501 lines.')
})

test.for([
  ['', /neither GPX nor GeoJSON/],
  ['serial,name', /neither GPX nor GeoJSON/],
  ['{', /not valid JSON/],
  ['[[1, 2], [3, 4]]', /not a GeoJSON object/],
  ['{"type": "Feature", "geometry": {"coordinates": []}}', /^\/geometry has no GeoJSON `type`/],
  ['{"type": "Point", "coordinates": [1, 2]}', /no LineString or MultiLineString .*, only 1 Point\./],
  ['{"type": "LineString", "coordinates": [[1, 2], [null, 3]]}', /^\/coordinates\/1 has no longitude\.$/],
  ['{"type": "LineString", "coordinates": [[1, 2], [3]]}', /^\/coordinates\/1 has no latitude\.$/],
  [
    '{"type": "LineString", "coordinates": [["1", 2], [1, 3]]}',
    /^\/coordinates\/0 has the longitude "1"\. It must be a number\.$/,
  ],
  ['{"type": "LineString", "coordinates": [[937000, 6780000], [1, 3]]}', /between −360 and 360 degrees/],
  ['<gpx><trk>', /not valid XML: <trk> is not closed in line 1/],
  ['<gpx>\n<trk></rte></gpx>', /not valid XML: <\/rte> closes no element in line 2/],
  ['<gpx><!-- never ends', /not valid XML/],
  ['<gpx><trk lat=1></gpx>', /not valid XML/],
  ['<kml><Document/></kml>', /The file is KML, not GPX\. .*QGIS or GPSBabel/],
  ['<!DOCTYPE html><html></html>', /a <html> element, not GPX/],
  ['PK\u0003\u0004', /a ZIP archive, such as KMZ/],
  ['<gpx><wpt lat="1" lon="2"/><wpt lat="2" lon="2"/></gpx>', /no track or route .*, only 2 waypoints/],
  [
    '<gpx><trk><trkseg>\n<trkpt lat="" lon="2"/></trkseg></trk></gpx>',
    /^Point 1 of segment 1 of track 1, in line 2 .* has an empty latitude\.$/,
  ],
  [
    '<gpx><rte/><rte><rtept lat="1" lon="2"/><rtept lat="1"/></rte></gpx>',
    /^Point 2 of route 2, .* has no longitude\.$/,
  ],
  ['<gpx><rte><rtept lat="51,9" lon="-8.5"/></rte></gpx>', /has the latitude "51,9"\. Use a decimal point\.$/],
  ['<gpx><rte><rtept lat="north" lon="-8.5"/></rte></gpx>', /has the latitude "north"\. It must be a number\.$/],
  [
    '<gpx><rte><rtept lat="90.1" lon="-8.5"/></rte></gpx>',
    /has the latitude 90\.1\. It must be between −90 and 90 degrees\.$/,
  ],
] as const)('refuses %s', ([text, reason]) => {
  expect(() => read(text)).toThrow(reason)
})

test('refuses collections that are inside each other without end', () => {
  const levels = 20_000
  expect(() => read(`${'{"type":"GeometryCollection","geometries":['.repeat(levels)}${']}'.repeat(levels)}`)).toThrow(
    'more than 100 collections',
  )
})

test('reads and refuses what people have', (context) => {
  if (fieldMissing) context.skip(fieldMissing)
  const counts = (file: string) => readRouteFile(readFieldBytes(file)).lines.map(({ length }) => length)
  for (const file of [
    'comment.gpx',
    'gpx10.gpx',
    'prefix.gpx',
    'rte.gpx',
    'utf16.gpx',
    '180.geojson',
    'geometrycollection.geojson',
  ])
    expect([file, counts(`route-${file}`)]).toEqual([file, [2]])
  for (const file of ['two-days.gpx', 'fc.geojson', 'multilinestring.geojson'])
    expect([file, counts(`route-${file}`)]).toEqual([file, [2, 2]])
  expect(counts('route-1hz-2h.gpx')).toEqual([3_601])
  for (const file of ['route-comma.gpx', 'route-emptylat.gpx', 'route-wpt.gpx', 'route.kml'])
    expect(() => counts(file), file).toThrow(/decimal point|empty|waypoints|KML/)
})
