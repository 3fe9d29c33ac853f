import { afterAll, beforeAll, expect, test } from 'vitest'
import { distanceM } from '#telemetry/geo/geo'
import { align } from '#telemetry/position/align'
import { dwellPolicies } from '#telemetry/position/dwell'
import type { CellularRow } from '#telemetry/report/rows'
import { type Drive, type DriveSample, drivesMissing, readDrives } from '#test/drives'
import { cleanDrive, holdOut, holdOutFigures } from '#test/hold-out'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { cellularRow } from '#test/tracks'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

if (drivesMissing !== null) console.log(`skipped: recorded drives through the whole service: ${drivesMissing}`)

const samplesPerReport = 120
const hourMs = 60 * 60_000

let service: WholeService
beforeAll(async () => {
  if (drivesMissing === null) service = await startWholeService()
}, 120_000)
afterAll(() => service?.close())

/** Shifts the drive so that it ended three hours ago, because the plan hides older data. */
function recent(drive: Drive): Drive {
  const endMs = Math.floor(Date.now() / 1_000) * 1_000 - 3 * hourMs
  const shiftMs = endMs - drive.samples.reduce((newest, { ts }) => Math.max(newest, ts), 0)
  return { ...drive, samples: drive.samples.map((sample) => ({ ...sample, ts: sample.ts + shiftMs })) }
}

async function report(token: string, samples: readonly DriveSample[]): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${service.url}/telemetry`, { method: 'POST', headers, body: JSON.stringify({ samples }) })
  expect([answer.status, await answer.json()]).toMatchObject([202, { accepted: samples.length, rejected: [] }])
}

/** Returns the reports in order, except that every fourth is sent twice, as after a lost response, and the last two are swapped. */
async function replay(device: ReportingDevice, samples: readonly DriveSample[]): Promise<void> {
  const reports = Array.from({ length: Math.ceil(samples.length / samplesPerReport) }, (_, index) =>
    samples.slice(index * samplesPerReport, (index + 1) * samplesPerReport),
  )
  const sent = reports.flatMap((batch, index) => (index % 4 === 3 ? [batch, batch] : [batch]))
  const [beforeLast, last] = sent.splice(-2)
  for (const batch of [...sent, last, beforeLast]) if (batch) await report(device.token, batch)
}

type Item = { kind: string; ts: string } & Record<string, unknown>

async function read(path: string): Promise<string> {
  const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${service.adminKey}` } })
  expect(answer.status).toBe(200)
  return answer.text()
}

async function history({ id }: ReportingDevice): Promise<Item[]> {
  const text = await read(`/api/router/${id}/telemetry/history?sinceMinutes=2880&format=ndjson`)
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Item]))
}

const keyOf = ({ kind, ts }: { kind: string; ts: string | number }) => `${kind} ${new Date(ts).toISOString()}`
const keysOf = (samples: readonly DriveSample[]) => [...new Set(samples.map(keyOf))].sort()

test('recorded drives come back exactly once, clean, and with the positions the router had', {
  timeout: 240_000,
}, async ({ skip }) => {
  if (drivesMissing) return skip(drivesMissing)
  const drives = readDrives().map(recent)
  const organizationId = await newOrganization(service.pool)
  const whole = await newReportingDevices(service.pool, organizationId, drives.length)
  const halved = await newReportingDevices(service.pool, organizationId, drives.length)
  const held = drives.map((drive) => {
    const { kept, dropped } = holdOut(cleanDrive(drive).reports)
    const { rows } = align(
      kept,
      dropped.map(({ timeMs }) => cellularRow(timeMs)),
      dwellPolicies.vehicle,
    )
    const isDropped = ({ ts }: DriveSample) =>
      dropped.some(({ firstReportMs, lastReportMs }) => ts >= firstReportMs && ts <= lastReportMs)
    const samples = drive.samples.filter((sample) => sample.kind === 'cellular' || !isDropped(sample))
    return { dropped, samples, inOrder: rows }
  })
  await Promise.all([
    ...drives.map((drive, index) => replay(whole[index] as ReportingDevice, drive.samples)),
    ...held.map(({ samples }, index) => replay(halved[index] as ReportingDevice, samples)),
  ])

  let rows = 0
  for (const [index, drive] of drives.entries()) {
    const device = whole[index] as ReportingDevice
    const expected = keysOf(drive.samples)
    const items = await until(
      'all rows',
      async () => {
        const found = await history(device)
        return found.length >= expected.length && found
      },
      60_000,
    )
    expect(items.map(keyOf).sort()).toEqual(expected)
    expect(items.flatMap((item) => Object.values(item)).filter(isNoValue)).toEqual([])
    rows += items.length

    const latest = JSON.parse(await read(`/api/router/${device.id}/telemetry/latest`))
    const newest = (kind: string) => expected.findLast((key) => key.startsWith(kind))?.split(' ')[1]
    expect(latest.cellular.ts).toBe(newest('cellular'))
    expect(latest.location.ts).toBe(newest('location'))
  }

  const errorsM: number[] = []
  let covered = 0
  for (const [index, { dropped, samples, inOrder }] of held.entries()) {
    const device = halved[index] as ReportingDevice
    // The last reports arrived out of order. The result is the same as in order.
    const aligned = await until(
      'rows where they belong',
      async () => {
        const items = await history(device)
        if (items.length !== keysOf(samples).length) return false
        const byTime = new Map(
          items.filter(({ kind }) => kind === 'cellular').map((item) => [Date.parse(item.ts), item]),
        )
        const found = dropped.flatMap(({ timeMs }) => byTime.get(timeMs) ?? [])
        return found.every(({ lat, lon }, at) => isAt(inOrder[at], lat, lon)) && found
      },
      60_000,
    )
    for (const [at, row] of aligned.entries()) {
      const truth = dropped[at]
      if (!truth) continue
      const errorM = distanceM(truth, { lat: Number(row.lat), lon: Number(row.lon) })
      errorsM.push(errorM)
      if (errorM <= Number(row.alignErrorM)) covered += 1
    }
  }
  const figures = holdOutFigures(errorsM, covered)
  console.log(`recorded drives through the whole service: ${rows} rows, each once; hold-out`, figures)
  expect(figures.positions).toBeGreaterThan(300)
  expect(figures.p50M).toBeLessThanOrEqual(11.8)
  expect(figures.p90M).toBeLessThanOrEqual(34)
  expect(figures.withinAlignErrorShare).toBeGreaterThanOrEqual(0.9)
  expect(figures.withinAlignErrorShare).toBeLessThanOrEqual(0.99)
})

const isAt = (row: CellularRow | undefined, lat: unknown, lon: unknown): boolean =>
  row !== undefined && row.alignedLat !== null && row.alignedLat === lat && row.alignedLon === lon

const isNoValue = (value: unknown) => value === '-' || value === -200 || value === 2_147_483_647
