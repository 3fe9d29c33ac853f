import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { QuestdbSql } from '#questdb/server/sql'
import { kinds } from '#telemetry/report/fields'
import { createDeviceReports } from '#telemetry-writer/states/device-reports'
import { createDeviceStates } from '#telemetry-writer/states/device-states'
import { packState } from '#telemetry-writer/states/packed-states'
import { createRowBatch } from '#telemetry-writer/store/row-batch'
import { createCleaningCounts } from './cleaning-counts.ts'
import { decodeHere } from './decode-report.ts'
import { createReportRows } from './report-rows.ts'

const startMs = Date.UTC(2026, 0, 1)
const emptyDatabase: QuestdbSql = { query: async () => [], queryArrays: async () => [], end: async () => {} }

const sample = fc
  .tuple(
    fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }),
    fc.constantFrom(...kinds),
    fc.record({ lat: fc.double(), lon: fc.double(), cells: fc.jsonValue(), rsrpDbm: fc.jsonValue() }),
  )
  .map(([any, kind, fields]) => ({ ...any, ...fields, kind }))

const ordinary = [
  { kind: 'cellular', ts: startMs, rat: 'lte', rsrpDbm: -90 },
  { kind: 'location', ts: startMs, lat: 50, lon: 8, accuracyM: 5, speedMps: 3 },
]

test('reports with any fields do not affect the packed states of other devices', async () => {
  const onFailure = (_deviceId: string, error: unknown) => {
    throw error
  }
  const states = createDeviceStates({
    questdb: emptyDatabase,
    generation: () => 0,
    position: () => 0,
    onFailure,
    activity: { statesRestored: 0 },
  })
  const rows = createRowBatch()
  const changes = createDeviceReports()
  const reportRows = createReportRows({ rows, reports: changes, cleaning: createCleaningCounts() })
  let [position, second] = [0, 0]
  /** The writer processes one report, and then packs the device. */
  const report = async (deviceId: string, samples: readonly object[]) => {
    const batch = {
      ...{ deviceId, organizationId: 'owner', deviceClass: 'vehicle' as const, format: 'json' as const },
      ...{ receivedAtMs: startMs + position, oldestTsMs: 0, sampleCount: samples.length, firstSample: 0 },
      ...{ body: Buffer.from(JSON.stringify({ samples })), position: position++, nextPosition: position },
    }
    await states.load(new Map([[deviceId, 'vehicle']]), startMs)
    const told = { counted: true, stored: { has: () => false }, generation: 0 }
    reportRows.add(decodeHere(batch), states.of(deviceId), told)
    changes.take()
    rows.take()
    for (let turn = 0; turn < 3; turn++, second += 20) states.packIdle(second * 1_000)
  }
  await report('ordinary', ordinary)
  const packed = (deviceId: string) => packState(states.of(deviceId))?.bytes.toString('latin1')
  const before = packed('ordinary')
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 20 }), async (samples) => {
      await report(
        'hostile',
        samples.map((one) => ({ ...one, ts: startMs + position })),
      )
      expect(packed('ordinary')).toBe(before)
      await report('other', ordinary)
    }),
    { numRuns: 300 },
  )
}, 60_000)
