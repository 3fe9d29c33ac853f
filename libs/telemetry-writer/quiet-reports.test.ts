import { expect, test } from 'vitest'
import type { LoggedBatch, LogPosition, TelemetryLogReader } from '#telemetry-log/log'
import { createQuietReports } from './quiet-reports.ts'

/** A log of reports of devices named by letters; each report is 1,000 bytes long. */
function logOf(deviceIds: string) {
  const batches = [...deviceIds].map(
    (deviceId, index) =>
      ({
        deviceId,
        body: Buffer.alloc(488),
        position: index * 1_000,
        nextPosition: (index + 1) * 1_000,
      }) as LoggedBatch,
  )
  let at: LogPosition = 0
  const reader: TelemetryLogReader = {
    read(until) {
      const found = batches.filter(({ position }) => position >= at && position < until)
      at = found.at(-1)?.nextPosition ?? at
      return found
    },
    position: () => at,
    seek(position) {
      at = position
    },
    close() {},
  }
  return { reader, tail: batches.length * 1_000 }
}

const limits = { deviceBytes: 3_000, takeBytes: 1_000_000 }
const taken = (batches: LoggedBatch[]) => batches.map(({ deviceId, position }) => `${deviceId}${position / 1_000}`)

test('a device with little waiting is taken, in order; one with much is not until its backlog is passed', () => {
  const { reader, tail } = logOf('nqnnnqnnqnn')
  const quiet = createQuietReports(reader, limits)
  expect(taken(quiet.take(0, tail - 1_000))).toEqual(['q1', 'q5', 'q8'])
  expect(quiet.take(0, tail)).toEqual([])
  // The device's last report is one that has not been passed.
  expect(quiet.take(tail - 1_000, tail)).toEqual([])
})

test('reports that were passed meanwhile are not taken', () => {
  const { reader, tail } = logOf('qnqnnnnq')
  const quiet = createQuietReports(reader, { ...limits, takeBytes: 1_000, readBytes: 1_000_000 })
  expect(quiet.take(0, tail)).toEqual([])
  expect(taken(createQuietReports(reader, limits).take(tail, tail))).toEqual([])
})

test('what a report counted as is kept until it is passed', () => {
  const { reader, tail } = logOf('nnnnq')
  const quiet = createQuietReports(reader, { ...limits, reports: 1 })
  const [report] = quiet.take(0, tail)
  const counts = { stored: 1, replaced: 0, deadLettered: 0 }
  quiet.count(report?.position ?? 0, counts)
  expect(quiet.has(4_000)).toBe(true)
  expect(quiet.take(0, tail)).toEqual([])
  expect(quiet.pass(4_000)).toEqual(counts)
  expect([quiet.has(4_000), quiet.pass(4_000)]).toEqual([false, undefined])
})
