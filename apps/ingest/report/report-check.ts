import type { AdapterHead, AdapterRejection, DroppedField, Translation } from '#adapters/adapter'
import { adapterOf } from '#adapters/adapters'
import type { CorrectedTimes } from '#adapters/clock'
import type { SourceName } from '#adapters/source-names'
import { decodeBatch, type Rejection } from '#telemetry/report/accept'
import type { BatchFormat, RefusedBatch } from '#telemetry/report/envelope'
import { requestsForDays } from './report-cost.ts'

/** The result of a check, without the samples, which may take twenty times the memory of their text. */
export type CheckedReport = {
  ok: true
  sampleCount: number
  /** The number of requests that the report counts as, because of the days of its samples. */
  requests: number
  /** `index` counts the samples, or the units of a foreign report. */
  rejected: (Rejection | AdapterRejection)[]
  unknownFields: number
  /** The fields of a foreign report that were dropped. */
  droppedFields: readonly DroppedField[]
  /** The times of a foreign report that were corrected. */
  correctedTimes: readonly CorrectedTimes[]
}

/** A report in the protocol of another maker. Plain data, because reports are also checked in another thread. */
export type ForeignReport = { source: SourceName; head: AdapterHead }

export type CheckContext = {
  format: BatchFormat
  receivedAtMs: number
  oldestTsMs: number
  foreign?: ForeignReport
}

/** `body`: in our own format, as it is stored. */
export type Check = { body: Buffer; checked: CheckedReport | RefusedBatch }

/** Checks a decompressed report. Translates it first if it is in another protocol. A pure function. */
export function checkReport(body: Buffer, { foreign, ...context }: CheckContext): Check {
  if (!foreign) return { body, checked: checkOwn(body, context) }
  const translated = translate(body, foreign, context.receivedAtMs)
  if (!translated.ok) return { body, checked: translated }
  const { envelope, rejected, dropped, corrected } = translated
  const checked = envelope ? checkOwn(envelope, context) : nothing
  if (!checked.ok) return { body, checked }
  const foreignParts = { droppedFields: dropped, correctedTimes: corrected }
  const all = { ...checked, rejected: [...rejected, ...checked.rejected], ...foreignParts }
  return { body: envelope ?? Buffer.alloc(0), checked: all }
}

/** An unexpected error refuses the report. In the check thread, it would end the process, and a device could repeat it. */
function translate(body: Buffer, { source, head }: ForeignReport, receivedAtMs: number): Translation {
  try {
    return adapterOf(source).translate(body, head, receivedAtMs)
  } catch {
    return { ok: false, status: 400, code: 'untranslatable', detail: 'The report cannot be translated.' }
  }
}

const nothing: CheckedReport = {
  ok: true,
  sampleCount: 0,
  requests: 1,
  rejected: [],
  unknownFields: 0,
  droppedFields: [],
  correctedTimes: [],
}

function checkOwn(body: Buffer, { format, ...context }: Omit<CheckContext, 'foreign'>): CheckedReport | RefusedBatch {
  const decoded = decodeBatch(body, format, context)
  if (!decoded.ok) return decoded
  const { samples, rejected, unknownFields } = decoded
  const requests = requestsForDays(samples)
  return { ...nothing, sampleCount: samples.length, requests, rejected, unknownFields }
}
