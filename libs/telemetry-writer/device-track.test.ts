import { expect, test } from 'vitest'
import { advanceTrack, createDeviceTrack } from './device-track.ts'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 4, 4)

const fix = (minute: number, lat: number) => ({
  tsMs: startMs + minute * minuteMs,
  lat,
  lon: 8,
  fixTs: null,
  accuracyM: 5,
  speedMps: null,
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
