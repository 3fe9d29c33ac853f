import { type Signal, signalQuality } from '#telemetry/coverage/quality'
import { recordSource, type StoredSample, type TelemetryRecord } from './records.ts'

/** How much older a value may be that completes a sample. */
export const completedWithinMs = 120_000

/** What tells a SIM from another. */
const simMarks = ['simSlot', 'iccid', 'imsi']
/**
 * Groups of fields that belong to a cell, a SIM or a session. `marks` tell one from another: values of the group are not taken
 * from before a change of one of them.
 */
const groups: { marks: readonly string[]; fields: ReadonlySet<string> }[] = [
  {
    marks: ['rat', 'plmn', 'cellId', 'pci'],
    fields: new Set([
      ...['rat', 'plmn', 'operatorName', 'registration', 'band', 'arfcn', 'bandwidthMhz', 'pci', 'cellId', 'tac'],
      ...['rssiDbm', 'rsrpDbm', 'rsrqDb', 'sinrDb', 'cqi', 'signalPercent', 'nrRsrpDbm', 'nrRsrqDb', 'nrSinrDb'],
      ...['nrArfcn', 'nrPci', 'nrBand', 'cells'],
    ]),
  },
  { marks: simMarks, fields: new Set([...simMarks, 'simPlmn']) },
  {
    marks: [...simMarks, 'state'],
    fields: new Set(['apn', 'wanIp', 'uptimeS', 'latencyMs', 'jitterMs', 'lossPct', 'rxBytes', 'txBytes']),
  },
]
const allMarks = [...new Set(groups.flatMap(({ marks }) => marks))]

/** Fields that only describe the sample itself: its time, its position, and how good that position is. */
const ownFields: ReadonlySet<string> = new Set([
  ...['ts', 'kind', 'tsCorrected', 'modem', 'quality', 'qualityBasis', 'alignment', 'alignErrorM', 'usable'],
  ...['lat', 'lon', 'accuracyM', 'fixAgeMs', 'fix', 'fixTs', 'hdop', 'source'],
])

/**
 * Returns the sample with the fields that it lacks, from earlier samples of the same modem and interface, newest first: routers
 * report one value at a time. `completedFrom` is the time of the oldest sample used, null if none was.
 */
export function completeSample<Sample extends Pick<StoredSample, 'tsMs' | 'record'>>(
  newest: Sample,
  earlier: Iterable<Sample>,
): Sample {
  const { kind } = newest.record
  const record: TelemetryRecord = { ...newest.record, completedFrom: null }
  const records = [record]
  const source = recordSource(record)
  for (const { tsMs, record: older } of earlier) {
    if (tsMs < newest.tsMs - completedWithinMs) break
    if (recordSource(older) === source) records.push(older)
  }
  const [present = {}, ...before] = marksOf(records)
  const ended = new Set<string>()
  for (const [index, marks] of before.entries()) {
    const older = records[index + 1] ?? record
    for (const group of groups) {
      if (group.marks.every((name) => isSame(present[name], marks[name]))) continue
      for (const name of group.fields) ended.add(name)
    }
    if (fill(record, older, ended)) record.completedFrom = older.ts
  }
  if (kind === 'cellular') Object.assign(record, signalQuality(record as Signal))
  return { ...newest, record }
}

/** The marks of each record, newest first. A record that does not name one has that which was named last before. */
function marksOf(newestFirst: readonly TelemetryRecord[]): Record<string, unknown>[] {
  let marks: Record<string, unknown> = {}
  const oldestFirst = newestFirst.toReversed().map((record) => {
    const named = allMarks.filter((name) => !isUnknown(record[name])).map((name) => [name, record[name]])
    marks = { ...marks, ...Object.fromEntries(named) }
    return marks
  })
  return oldestFirst.reverse()
}

/** An unknown mark is no change, but what is older than a loss of service and does not say so was measured before it. */
const isSame = (known: unknown, older: unknown) =>
  isUnknown(known) || known === older || (isUnknown(older) && known !== noService)
const noService = 'none'
const isUnknown = (value: unknown) => value === null || value === undefined

/** Returns whether a value was taken. */
function fill(record: TelemetryRecord, older: TelemetryRecord, ended: ReadonlySet<string>): boolean {
  let isTaken = false
  for (const name in older) {
    if (record[name] !== null || older[name] === null || ownFields.has(name) || name === 'completedFrom') continue
    if (ended.has(name)) continue
    record[name] = older[name]
    isTaken = true
  }
  return isTaken
}
