import { expect, test } from 'vitest'
import { advanceTrack, askForPast, createDeviceTrack } from './device-track.ts'

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

test('a stay that goes on after a transfer stays with who owned the device when it arrived', () => {
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
  ['stood at the same place hours before', -300, 0, true],
  ['was far away half a minute before', -0.5, 5_000, true],
  ['was far away over a minute before', -1.01, 5_000, false],
  ['was 250 m away five minutes before', -5, 250, true],
  ['was 250 m away half an hour before', -30, 250, false],
])('a device that %s: its past is worked through again or not', (_, minute, northM, isAskedFor) => {
  const track = createDeviceTrack('vehicle')
  advanceTrack(track, { deviceId: 'device', organizationId: 'owner', receivedAtMs: startMs }, [fix(0, 50)], [])
  track.past = { tsMs: startMs + minute * minuteMs, lat: 50 + northM / 111_195, lon: 8 }
  expect(askForPast(track)).toBe(isAskedFor)
  expect(track.dirty).toEqual(isAskedFor ? [{ fromMs: startMs, toMs: startMs }] : [])
  expect(track.past).toBeUndefined()
})
