import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { align } from '#telemetry/position/align'
import { dwellPolicies } from '#telemetry/position/dwell'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { type DriveSample, drivesMissing, readDrives } from '#test/drives'
import { cleanDrive } from '#test/hold-out'
import { whyNoKafka } from '#test/kafka'
import { questdbConnection } from '#test/questdb'
import { newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { startTelemetryPath, type TelemetryPath } from '#test/telemetry-path'
import { refreshCoverage } from '#test/telemetry-rows'
import { until } from '#test/until'

const secondMs = 1_000
const hourMs = 3_600_000
/** Late data is realigned within a minute after it arrived. The limit allows for busy machines. */
const settledWithinMs = 120_000
/** Shuffles in the same way in every run. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  let state = seed
  const mixed = [...items]
  for (let last = mixed.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    const other = state % (last + 1)
    const item = mixed[last] as Item
    mixed[last] = mixed[other] as Item
    mixed[other] = item
  }
  return mixed
}

/** Returns a drive that ended six hours ago, with one sample per second and kind. Of two samples, the later counts. */
function sixHoursAgo(samples: readonly DriveSample[], nowMs: number): DriveSample[] {
  const newestMs = Math.max(...samples.map(({ ts }) => ts))
  const shiftMs = Math.floor(nowMs / secondMs) * secondMs - 6 * hourMs - newestMs
  const once = new Map(samples.map((sample) => [`${sample.kind} ${sample.ts}`, sample]))
  return [...once.values()].map((sample) => ({ ...sample, ts: sample.ts + shiftMs }))
}

type Fleet = { key: string; devices: ReportingDevice[] }

type Row = { kind: string; ts: string; lat: number | null; lon: number | null; alignment: string }
const rowsOf = (text: string): Row[] => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))

/** Returns the RF rows as a single alignment of all data produces them. */
const placesOf = (rows: readonly Row[]) =>
  rows
    .filter(({ kind }) => kind === 'cellular')
    .map(({ ts, lat, lon, alignment }) => [Date.parse(ts), lat, lon, alignment])
    .sort(([a], [b]) => Number(a) - Number(b))

const byIndex = (a: { h3: string }, b: { h3: string }) => (a.h3 < b.h3 ? -1 : 1)
const noKafka = await whyNoKafka()

describe.each(['segment files', 'Kafka'] as const)('samples in any order, with the log in %s', (log) => {
  const logDir = mkdtempSync(join(tmpdir(), 'arrival-orders-'))

  const problem = log === 'Kafka' ? noKafka : undefined
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let api: TestControlPlane
  let ingest: TelemetryPath
  beforeAll(async () => {
    if (problem) return
    api = await startControlPlane()
    const environment = { DEVICE_REQUESTS_PER_MINUTE: '100000', DEVICE_REQUEST_BURST: '100000' }
    const place = { postgresUrl: api.databaseUrl, questdb: questdbConnection(), logDir, environment }
    ingest = await startTelemetryPath(log, place)
  }, 180_000)
  afterAll(async () => {
    await ingest?.stop()
    await api?.close()
    rmSync(logDir, { recursive: true })
  }, 60_000)

  async function report(token: string, samples: readonly DriveSample[]): Promise<void> {
    const answer = await fetch(`${ingest.url}/telemetry`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sentAt: Date.now(), samples }),
    })
    expect(await answer.json()).toMatchObject({ accepted: samples.length, rejected: [] })
  }

  async function reportAll(token: string, samples: readonly DriveSample[], atOnce: number): Promise<void> {
    for (let start = 0; start < samples.length; start += atOnce)
      await report(token, samples.slice(start, start + atOnce))
  }

  /** The arrival orders of the samples of a drive, by name. */
  const arrivals: Record<string, (token: string, samples: DriveSample[]) => Promise<void>> = {
    'in order': (token, samples) => reportAll(token, samples, 200),
    'shuffled and partly twice': (token, samples) =>
      reportAll(token, [...shuffled(samples, 7), ...shuffled(samples, 11).slice(0, samples.length / 5)], 200),
    'the newest first, then all that was kept': async (token, samples) => {
      await report(token, samples.slice(-300))
      await reportAll(token, samples.slice(0, -300), 1_000)
    },
  }

  async function newFleet(size: number): Promise<Fleet> {
    const { id, key } = await api.newOrganization()
    return { key, devices: await newReportingDevices(api.services.pool, id, size) }
  }

  async function historyText({ key }: Fleet, deviceId: string): Promise<string> {
    const path = `/api/router/${deviceId}/telemetry/history?sinceMinutes=2880&format=ndjson`
    return (await api.fetch(path, { headers: { authorization: `Bearer ${key}` } })).text()
  }

  async function dwellsOf({ key }: Fleet, deviceId: string): Promise<unknown[]> {
    const { body } = await api.call('GET', `/fleet/dwells?deviceId=${deviceId}&sinceMinutes=2880`, { token: key })
    return body.items.map(({ id: _id, deviceId: _device, durationS, ...dwell }: Record<string, unknown>) => ({
      ...dwell,
      // The duration of an ongoing dwell continues to grow.
      durationS: dwell.departedAt === null ? null : durationS,
    }))
  }

  async function coverageOf(
    { key }: Fleet,
    query = '',
  ): Promise<{ h3: string; samples: number; serviceRatio: number }[]> {
    const { body } = await api.call('GET', `/fleet/coverage?h3Resolution=10&sinceMinutes=2880${query}`, { token: key })
    return body.items.toSorted(byIndex)
  }

  test('recorded drives produce the same rows, dwells and cells in any order of arrival', {
    timeout: 300_000,
  }, async ({ skip }) => {
    skip(drivesMissing !== null, drivesMissing ?? '')
    const nowMs = Date.now()
    const drives = readDrives().map((drive) => ({ ...drive, samples: sixHoursAgo(drive.samples, nowMs) }))
    const expected = drives.map((drive) => {
      const { reports, samples } = cleanDrive(drive)
      const { rows, dwells } = align(reports, samples, dwellPolicies.vehicle)
      const places = rows.map(({ tsMs, alignedLat, alignedLon, alignment }) => [
        tsMs,
        alignedLat,
        alignedLon,
        alignment,
      ])
      return { places, arrivals: dwells.map(({ arrivedAtMs }) => new Date(arrivedAtMs).toISOString()) }
    })
    const fleets = await Promise.all(Object.values(arrivals).map(() => newFleet(drives.length)))
    await Promise.all(
      Object.values(arrivals).map(async (arrive, at) => {
        for (const [index, { samples }] of drives.entries())
          await arrive(fleets[at]?.devices[index]?.token ?? '', samples)
      }),
    )

    const [inOrder, ...others] = fleets as [Fleet, ...Fleet[]]
    const sentAt = Date.now()
    const giveUpAt = sentAt + settledWithinMs
    for (const [index, { places, arrivals }] of expected.entries()) {
      const texts: string[] = []
      for (const fleet of fleets) {
        const deviceId = fleet.devices[index]?.id ?? ''
        const settled = async () => {
          const text = await historyText(fleet, deviceId)
          const dwells = (await dwellsOf(fleet, deviceId)) as { arrivedAt: string }[]
          const isSettled =
            JSON.stringify(placesOf(rowsOf(text))) === JSON.stringify(places) &&
            JSON.stringify(dwells.map(({ arrivedAt }) => arrivedAt).reverse()) === JSON.stringify(arrivals)
          return isSettled && text
        }
        texts.push(await until(`drive ${index + 1} is settled`, settled, Math.max(1, giveUpAt - Date.now())))
      }
      expect(texts.every((text) => text === texts[0])).toBe(true)
      const dwells = await dwellsOf(inOrder, inOrder.devices[index]?.id ?? '')
      for (const fleet of others) expect(await dwellsOf(fleet, fleet.devices[index]?.id ?? '')).toEqual(dwells)
    }

    console.log(`drives in every order settled ${Math.round((Date.now() - sentAt) / secondMs)} s after the last report`)

    await refreshCoverage(api.questdb)
    const cells = await coverageOf(inOrder)
    expect(cells.length).toBeGreaterThan(200)
    for (const fleet of others) expect(await coverageOf(fleet)).toEqual(cells)
  })

  test('a tunnel has cells with a low service ratio, although its samples arrived later', async () => {
    const fleet = await newFleet(3)
    const startMs = Math.floor(Date.now() / 60_000) * 60_000 - hourMs
    const metresPerSecond = 10
    const isInside = (second: number) => second > 30 && second < 50
    for (const [index, { token }] of fleet.devices.entries()) {
      const drive = Array.from({ length: 91 }, (_, second): DriveSample[] => {
        const ts = startMs + index * 300_000 + second * secondMs
        const lat = 52.2 + (second * metresPerSecond) / 111_195
        const radio = isInside(second) ? { rat: 'none' } : { rat: 'lte', plmn: '27201', rsrpDbm: -90, sinrDb: 10 }
        const fix: DriveSample = { kind: 'location', ts, lat, lon: -8.2, accuracyM: 4, speedMps: metresPerSecond }
        // Outside the tunnel, the receiver reports a fix every 50 m.
        return [{ kind: 'cellular', ts, ...radio }, ...(second % 5 === 0 && !isInside(second) ? [fix] : [])]
      }).flat()
      const isLate = ({ ts }: DriveSample) => isInside((ts - startMs - index * 300_000) / secondMs)
      await report(
        token,
        drive.filter((sample) => !isLate(sample)),
      )
      await report(token, drive.filter(isLate))
    }
    const seen = async () => {
      const texts = await Promise.all(fleet.devices.map(({ id }) => historyText(fleet, id)))
      const inside = texts.flatMap(rowsOf).filter((row) => 'rat' in row && row.rat === 'none')
      return inside.length === 3 * 19 && inside.every(({ alignment }) => alignment === 'interpolated')
    }
    await until('the samples from inside are there and placed', seen, settledWithinMs)
    await refreshCoverage(api.questdb)
    const cells = await coverageOf(fleet)
    const dead = cells.filter(({ serviceRatio }) => serviceRatio < 0.5)
    expect(dead.length).toBeGreaterThan(0)
    expect(dead.every(({ samples }) => samples >= 3)).toBe(true)
    expect(cells.filter(({ serviceRatio }) => serviceRatio === 1).length).toBeGreaterThan(0)
  })
})
