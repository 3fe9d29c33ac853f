import { decodeBatch, type Rejection } from '#telemetry/accept'
import type { BatchFormat, RefusedBatch } from '#telemetry/envelope'
import { requestsForDays } from './report-cost.ts'

/** The result of a check, without the samples, which may take twenty times the memory of their text. */
export type CheckedReport = {
  ok: true
  sampleCount: number
  /** The number of requests that the report counts as, because of the days of its samples. */
  requests: number
  rejected: Rejection[]
  unknownFields: number
}

export type CheckContext = { format: BatchFormat; receivedAtMs: number; oldestTsMs: number }

/** Checks a decompressed report. A pure function. */
export function checkReport(body: Buffer, { format, ...context }: CheckContext): CheckedReport | RefusedBatch {
  const decoded = decodeBatch(body, format, context)
  if (!decoded.ok) return decoded
  const { samples, rejected, unknownFields } = decoded
  return { ok: true, sampleCount: samples.length, requests: requestsForDays(samples), rejected, unknownFields }
}
