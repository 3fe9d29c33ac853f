import { describe, expect, test } from 'vitest'
import type { FleetDevice } from '../api/schemas.ts'
import type { TrailPoint } from '../map/surface.ts'
import { deviceAt, momentIn } from './device-moment.ts'
import type { HistoryRow } from './history-row.ts'

const startMs = Date.parse('2026-05-04T12:00:00Z')
const iso = (seconds: number) => new Date(startMs + seconds * 1_000).toISOString()
const point = (seconds: number, lon: number, more: Partial<TrailPoint> = {}): TrailPoint => ({
  ...{
    ts: startMs + seconds * 1_000,
    lat: 0,
    lon,
    quality: 'good',
    noService: false,
    alignment: 'exact',
    alignErrorM: 5,
  },
  ...more,
})
const row = (seconds: number, rsrpDbm: number): HistoryRow => ({
  ...{ ts: iso(seconds), kind: 'cellular', rat: 'lte', rsrpDbm, quality: 'fair' },
})

describe('the moment of the time slider', () => {
  const history = { rows: [row(0, -90), row(60, -100)], trail: [point(0, 10), point(60, 10.1)] }

  test.each([
    [0, -90, 10],
    [59, -90, 10],
    [60, -100, 10.1],
    [600, -100, 10.1],
  ])('has what was measured last before %i s', (seconds, rsrpDbm, lon) => {
    const { signal, fix } = momentIn(history, startMs + seconds * 1_000)
    expect(signal).toMatchObject({ rsrpDbm, quality: 'fair', sinrDb: null })
    expect(fix?.lon).toBe(lon)
  })

  test('has nothing before the first measurement', () => {
    expect(momentIn(history, startMs - 1)).toMatchObject({ signal: undefined, fix: undefined })
  })
})

describe('the marker of a moment in the past', () => {
  const device: FleetDevice = {
    ...{ deviceId: 'd', organizationId: 'o', name: 'Van', status: 'offline', dwell: null, signal: null, modems: [] },
    location: null,
  }

  test('is where the trail ends, moves in its direction, and is not silent', () => {
    const { location, status } = deviceAt(device, [point(0, 10), point(60, 10.01)], startMs)
    expect(location).toMatchObject({ lat: 0, lon: 10.01, ts: iso(0), ageMs: 0 })
    expect(location?.headingDeg).toBeCloseTo(90)
    expect(location?.speedMps).toBeCloseTo(18.5, 1)
    expect(status).toBe('online')
  })

  test('goes the short way across the antimeridian', () => {
    expect(deviceAt(device, [point(0, 179.995), point(60, -179.995)], startMs).location?.headingDeg).toBeCloseTo(90)
  })

  test.each([
    ['it stood there', [point(0, 10), point(60, 10)]],
    ['it did not report for long before', [point(0, 10), point(3_600, 11)]],
    ['it crept', [point(0, 10), point(200, 10.0001)]],
  ])('has no direction if %s', (_, trail) => {
    expect(deviceAt(device, trail, startMs).location).toMatchObject({ speedMps: 0, headingDeg: null })
  })

  test('stays where it is without a trail', () => {
    expect(deviceAt(device, [], startMs)).toBe(device)
  })
})
