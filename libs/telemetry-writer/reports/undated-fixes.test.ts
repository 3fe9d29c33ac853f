import { expect, test } from 'vitest'
import type { QuestdbSql } from '#questdb/server/sql'
import { createDeviceReports } from '#telemetry-writer/states/device-reports'
import { createDeviceStates } from '#telemetry-writer/states/device-states'
import { createRowBatch } from '#telemetry-writer/store/row-batch'
import { createCleaningCounts } from './cleaning-counts.ts'
import { decodeHere } from './decode-report.ts'
import { createReportRows } from './report-rows.ts'

const startMs = Date.UTC(2026, 0, 1)
const emptyDatabase: QuestdbSql = { query: async () => [], queryArrays: async () => [], end: async () => {} }

/** Sends reports of a device, and returns whether each location is stored as usable, and the alignment of each RF row. */
async function stored(...reports: object[][]) {
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
  const batch = createRowBatch()
  const [usable, alignments]: [boolean[], unknown[]] = [[], []]
  const rows = {
    ...batch,
    append(...args: Parameters<typeof batch.append>) {
      const [, row] = args
      if ('usable' in row) usable.push(row.usable as boolean)
      batch.append(...args)
    },
    appendRadio(...args: Parameters<typeof batch.appendRadio>) {
      alignments.push(args[0].alignment)
      batch.appendRadio(...args)
    },
  }
  const cleaning = createCleaningCounts()
  const reportRows = createReportRows({ rows, reports: createDeviceReports(), cleaning })
  await states.load(new Map([['router', 'vehicle']]), startMs)
  for (const [position, samples] of reports.entries()) {
    const decoded = decodeHere({
      ...{ deviceId: 'router', organizationId: 'owner', deviceClass: 'vehicle', format: 'json', firstSample: 0 },
      ...{ receivedAtMs: startMs + 60_000, oldestTsMs: 0, sampleCount: samples.length },
      ...{ body: Buffer.from(JSON.stringify({ samples })), position, nextPosition: position + 1 },
    })
    reportRows.add(decoded, states.of('router'), { counted: true, stored: { has: () => false }, generation: 0 })
  }
  return { usable, alignments }
}

const fix = (second: number, more: object = {}) => ({
  ...{ kind: 'location', ts: startMs + second * 1_000, lat: 50, lon: 8, accuracyM: 5, ...more },
})
const radio = (second: number) => ({ kind: 'cellular', ts: startMs + second * 1_000, rat: 'lte', rsrpDbm: -90 })

test.each([{ ageMs: 90_000_000 }, { fixTs: 'never' }, { fixTs: 0 }])(
  'a fix with %j repeats the one before with its position, in the same report and in a later one',
  async (undated) => {
    const together = [fix(0), fix(10, undated), radio(15)]
    expect(await stored(together)).toEqual({ usable: [true, true], alignments: ['held'] })
    expect(await stored([fix(0)], [fix(10, undated)], [radio(15)])).toEqual({
      usable: [true, true],
      alignments: ['held'],
    })
  },
)

test('a fix of unknown time at another position, with an unknown quality or without one before dates nothing', async () => {
  const old = { ageMs: 90_000_000 }
  expect(await stored([fix(0), fix(10, { ...old, lat: 50.001 }), radio(15)])).toEqual({
    ...{ usable: [true, false], alignments: ['none'] },
  })
  expect((await stored([fix(0), fix(10, { ...old, accuracyM: 150_000 })])).usable).toEqual([true, false])
  expect((await stored([fix(10, old)])).usable).toEqual([false])
  expect((await stored([fix(20)], [fix(10, old)])).usable).toEqual([true, false])
})
