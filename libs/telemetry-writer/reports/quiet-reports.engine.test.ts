import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LoggedBatch, LogPosition, TelemetryLogReader } from '#telemetry-log/log'
import { openSegmentLog } from '#telemetry-log/segments/segment-log'
import { openSegmentReader } from '#telemetry-log/segments/segment-reader'
import { notLinux } from '#test/platform'
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
    isLoading: () => false,
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

test('reports of a device with a small backlog are taken in order; a large backlog must be passed first', () => {
  const { reader, tail } = logOf('nqnnnqnnqnn')
  const quiet = createQuietReports(reader, limits)
  expect(taken(quiet.take(0, tail - 1_000))).toEqual(['q1', 'q5', 'q8'])
  expect(quiet.take(0, tail)).toEqual([])
  // The device's last report is one that has not been passed.
  expect(quiet.take(tail - 1_000, tail)).toEqual([])
})

test('without a large backlog, reports keep the order of the log', () => {
  const { reader, tail } = logOf('abcab')
  expect(createQuietReports(reader, limits).take(0, tail)).toEqual([])
})

test('reports that were already passed are not taken', () => {
  const { reader, tail } = logOf('qnqnnnnq')
  const quiet = createQuietReports(reader, { ...limits, takeBytes: 1_000, readBytes: 1_000_000 })
  expect(quiet.take(0, tail)).toEqual([])
  expect(taken(createQuietReports(reader, limits).take(tail, tail))).toEqual([])
})

test('the counts of a report are kept until it is passed', () => {
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

test('a segment that is passed does not stay open', async ({ skip }) => {
  if (notLinux) return skip(notLinux)
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-quiet-'))
  const log = await openSegmentLog({ folder })
  const ahead = openSegmentReader({ folder, from: 0 })
  try {
    for (let index = 0; index < 10; index++) {
      await log.append({
        ...{ deviceId: '01890000-0000-7000-8000-0000000000aa', organizationId: '01890000-0000-7000-8000-0000000000bb' },
        ...{ deviceClass: 'vehicle', receivedAtMs: 1, oldestTsMs: 0, format: 'json', sampleCount: 1 },
        body: Buffer.alloc(1_000, 'x'),
      })
    }
    // The log itself has its newest segment open.
    const openFiles = () => openPaths().filter((path) => path.startsWith(folder) && path.endsWith('.segment')).length
    const before = openFiles()
    const quiet = createQuietReports(ahead)
    quiet.take(0, log.tail().position)
    expect(openFiles()).toBe(before + 1)
    quiet.follow(log.tail().position + 1)
    expect(openFiles()).toBe(before)
  } finally {
    ahead.close()
    await log.close()
    rmSync(folder, { recursive: true })
  }
})

/** The paths of all files that this process has open. */
function openPaths(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}
