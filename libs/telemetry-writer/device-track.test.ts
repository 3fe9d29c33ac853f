import { expect, test } from 'vitest'
import { advanceTrack, askForPast, createDeviceTrack, setPast } from './device-track.ts'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 4, 4)

const fix = (minute: number, lat: number) => ({
  tsMs: startMs + minute * minuteMs,
  lat,
  lon: 8,
  fixTs: null,
  accuracyM: 5,
  speedMps: null,
  headingDeg: null,
})

test('a dwell that continues after a transfer belongs to the organization that owned the device at its arrival', () => {
  const track = createDeviceTrack('vehicle')
  const reportOf = (organizationId: string, fixes: ReturnType<typeof fix>[]) => {
    const origin = { deviceId: 'device', organizationId, receivedAtMs: startMs }
    const { dwells } = advanceTrack(track, origin, fixes, [])
    return dwells.map(({ row, origin }) => ({
      arrivedAtMinute: (row.tsMs - startMs) / minuteMs,
      isOver: row.departedAtMs !== null,
      organizationId: origin.organizationId,
    }))
  }
  const seller = { arrivedAtMinute: 0, organizationId: 'seller' }
  expect(
    reportOf(
      'seller',
      [0, 3, 6].map((minute) => fix(minute, 50)),
    ),
  ).toEqual([{ ...seller, isOver: false }])
  expect(reportOf('buyer', [fix(9, 50)])).toEqual([{ ...seller, isOver: false }])
  expect(reportOf('buyer', [fix(12, 51), fix(18, 51)])).toEqual([
    { ...seller, isOver: true },
    { arrivedAtMinute: 12, isOver: false, organizationId: 'buyer' },
  ])
})

test.each([
  ['at the same place, 5 h earlier', -300, 0, true],
  ['5 km away, 30 s earlier', -0.5, 5_000, true],
  ['5 km away, over a minute earlier', -1.01, 5_000, false],
  ['250 m away, 5 min earlier', -5, 250, true],
  ['250 m away, 30 min earlier', -30, 250, false],
])('a past position %s requests a rebuild only if it affects the first fix', (_, minute, northM, isRequested) => {
  const track = createDeviceTrack('vehicle')
  advanceTrack(track, { deviceId: 'device', organizationId: 'owner', receivedAtMs: startMs }, [fix(0, 50)], [])
  setPast(track, { tsMs: startMs + minute * minuteMs, lat: 50 + northM / 111_195, lon: 8 })
  expect(askForPast(track)).toBe(isRequested)
  expect(track.dirty).toEqual(isRequested ? [{ fromMs: startMs, toMs: startMs }] : [])
  expect(track.past).toBeUndefined()
})
