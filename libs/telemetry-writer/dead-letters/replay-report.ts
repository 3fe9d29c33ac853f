import type { QuestdbSql } from '#questdb/server/sql'
import { readStoredRows, type StoredRow } from '#questdb/writer/stored-rows'
import { type AcceptedSample, decodeBatch } from '#telemetry/report/accept'
import { sampleSource } from '#telemetry/report/sources'
import type { DeadReport } from '#telemetry-log/dead-letters/dead-letters'
import type { TelemetryBatch } from '#telemetry-log/log'
import type { LoggedSamples } from './logged-samples.ts'

/** Decides whether to replay data received at this time over the stored row. */
export function fateOver(stored: StoredRow, receivedAtMs: number): 'replay' | 'erased' | 'superseded' {
  if (stored.kind === 'erased') return 'erased'
  return stored.kind === 'row' && stored.receivedAtMs >= receivedAtMs ? 'superseded' : 'replay'
}

/**
 * Returns the part of a report to append to the log again: without samples for which a newer or an erased row is stored.
 * Undefined if nothing is left. Throws if the report cannot be decoded, or cannot be split without changing its other
 * samples.
 */
export async function replayableReport(
  questdb: QuestdbSql,
  letter: DeadReport,
  logged: LoggedSamples,
): Promise<{ batch: TelemetryBatch; samples: readonly AcceptedSample[] } | undefined> {
  const { deviceId, organizationId, deviceClass, receivedAtMs, oldestTsMs, format } = letter
  const whole = Buffer.from(letter.body, 'base64')
  const context = { receivedAtMs, oldestTsMs }
  const decoded = decodeBatch(whole, format, context)
  if (!decoded.ok) throw new Error(decoded.detail)
  const unlogged = decoded.samples.filter((sample) => !logged.supersedes(letter, sample))
  const kept = await withoutSuperseded(questdb, letter, unlogged)
  if (kept.length === 0) return undefined
  const batch = { deviceId, organizationId, deviceClass, receivedAtMs, oldestTsMs, sampleCount: kept.length }
  if (kept.length === decoded.samples.length) return { batch: { ...batch, format, body: whole }, samples: kept }
  const body = Buffer.from(JSON.stringify({ sentAt: decoded.sentAtMs, samples: kept.map(({ sample }) => sample) }))
  const again = decodeBatch(body, 'json', context)
  if (!again.ok || !haveSameTimes(again.samples, kept)) throw new Error('The report cannot be split.')
  return { batch: { ...batch, format: 'json', body }, samples: kept }
}

async function withoutSuperseded(questdb: QuestdbSql, letter: DeadReport, samples: readonly AcceptedSample[]) {
  const kept: AcceptedSample[] = []
  for (const kind of new Set(samples.map((sample) => sample.kind))) {
    const ofKind = samples.filter((sample) => sample.kind === kind)
    const times = [...new Set(ofKind.map(({ tsMs }) => tsMs))]
    const storedAt = await readStoredRows(questdb, kind, letter.deviceId, times)
    const isReplayed = ({ tsMs, sample }: AcceptedSample) =>
      fateOver(storedAt(tsMs, sampleSource(kind, sample)), letter.receivedAtMs) === 'replay'
    kept.push(...ofKind.filter(isReplayed))
  }
  return kept.sort((a, b) => a.index - b.index)
}

const haveSameTimes = (a: readonly AcceptedSample[], b: readonly AcceptedSample[]): boolean =>
  a.length === b.length && a.every(({ tsMs, shiftMs }, at) => tsMs === b[at]?.tsMs && shiftMs === b[at]?.shiftMs)
