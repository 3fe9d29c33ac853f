import { expect, test } from 'vitest'
import { radioRow } from '#telemetry/rows/radio-row'
import { cellularRow } from '#test/tracks'
import { advanceTrack, askForPast, createDeviceTrack, setPast, settleWhenQuiet } from './device-track.ts'

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

const reportAt = (track: ReturnType<typeof createDeviceTrack>, minute: number) => {
  const reported = fix(minute, 50 + (minute % 3) * 0.0001)
  const origin = { deviceId: 'device', organizationId: 'owner', receivedAtMs: reported.tsMs }
  return advanceTrack(track, origin, [reported], [radioRow(cellularRow(reported.tsMs), 'owner', reported.tsMs)])
}

test('the row of an open dwell is written seldom once the dwell is long, and when a gap begins', () => {
  const track = createDeviceTrack('vehicle')
  const written: number[] = []
  for (let minute = 0; minute <= 24 * 60; minute++) if (reportAt(track, minute).dwells.length > 0) written.push(minute)
  expect(written.slice(0, 6)).toEqual([5, 6, 7, 8, 9, 10])
  expect(written.length).toBeLessThan(0.12 * 24 * 60)
  expect(Math.max(...written.slice(1).map((minute, index) => minute - (written[index] ?? 0)))).toBeLessThanOrEqual(10)
  const [afterGap] = reportAt(track, 24 * 60 + 16).dwells
  expect(afterGap?.row).toMatchObject({ gap: true, departedAtMs: null })
})

test('the dwell of a device that reports every minute is not settled between two reports', () => {
  const track = createDeviceTrack('vehicle')
  for (let minute = 0; minute <= 30; minute++) reportAt(track, minute)
  const heardAtMs = startMs + 30 * minuteMs
  expect(settleWhenQuiet(track, heardAtMs, heardAtMs + 1.2 * minuteMs)).toBe(false)
  expect(settleWhenQuiet(track, heardAtMs, heardAtMs + 1.6 * minuteMs)).toBe(true)
})

test('an RF row of an open dwell is not written again when only the centre of the dwell moves', () => {
  const track = createDeviceTrack('vehicle')
  for (let minute = 0; minute <= 5; minute++) reportAt(track, minute)
  for (let minute = 6; minute <= 30; minute++) {
    expect(reportAt(track, minute).rows.map(({ tsMs }) => tsMs)).toEqual([startMs + minute * minuteMs])
  }
  expect(track.alignment.openDwellRows).toBe('stale')
})
