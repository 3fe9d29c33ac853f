import type { QuestdbSql } from '#questdb/server/sql'
import { readStoredAmong, readStoredTimes, type SampleKey } from '#questdb/writer/device-times'
import type { TimeRange } from '#telemetry/position/device-alignment'
import type { AcceptedSample } from '#telemetry/report/accept'
import type { Kind } from '#telemetry/report/fields'
import { sampleSource } from '#telemetry/report/sources'
import type { LoggedBatch } from '#telemetry-log/log'
import type { DeviceStates } from '#telemetry-writer/states/device-states'
import { sight } from '#telemetry-writer/states/seen-samples'

/** `failure` is the error of decoding. */
export type DecodedReport = { batch: LoggedBatch; samples: readonly AcceptedSample[]; failure?: unknown }

/** Which of the unsure samples are already in the database. */
export type StoredSampleTimes = { has(deviceId: string, kind: Kind, source: string, tsMs: number): boolean }

type Question = { deviceId: string; kind: Kind; receivedBeforeMs: number; times: number[] }

/** The number of connections of the writer. */
const questionsAtOnce = 4
const rangeMs = 60 * 60 * 1_000
const fewTimes = 32
const timesAtOnce = 500

/**
 * Looks up samples that are older than the known times. Ignores reports that were received later, so that a report that is
 * processed again after a crash does not find its own rows.
 */
export async function askForStoredTimes(
  questdb: QuestdbSql,
  reports: readonly DecodedReport[],
  states: DeviceStates,
  generation: number,
): Promise<StoredSampleTimes> {
  const questions = new Map<string, Question>()
  for (const { batch, samples } of reports) {
    const { seen } = states.of(batch.deviceId)
    for (const { kind, tsMs, sample } of samples) {
      // As most samples are.
      if (tsMs > seen[kind].newestMs) continue
      if (sight(seen[kind], tsMs, sampleSource(kind, sample), generation) !== 'unsure') continue
      const key = keyOf(batch.deviceId, kind)
      let question = questions.get(key)
      if (!question) {
        question = { deviceId: batch.deviceId, kind, receivedBeforeMs: batch.receivedAtMs, times: [] }
        questions.set(key, question)
      }
      question.times.push(tsMs)
    }
  }
  const stored = new Map<string, StoredSamples>()
  const waiting = questions.entries()
  const answerSome = async () => {
    for (const [key, question] of waiting) stored.set(key, await storedTimesOf(questdb, question))
  }
  await Promise.all(Array.from({ length: questionsAtOnce }, answerSome))
  return {
    has: (deviceId, kind, source, tsMs) => stored.get(keyOf(deviceId, kind))?.get(tsMs)?.includes(source) ?? false,
  }
}

/** The sources of stored samples by time. */
type StoredSamples = Map<number, string[]>

async function storedTimesOf(questdb: QuestdbSql, question: Question): Promise<StoredSamples> {
  const { deviceId, kind, receivedBeforeMs } = question
  const times = [...new Set(question.times)].sort((a, b) => a - b)
  const stored: StoredSamples = new Map()
  const add = ([tsMs, source]: SampleKey) => {
    const sources = stored.get(tsMs)
    if (sources) sources.push(source)
    else stored.set(tsMs, [source])
  }
  const [stretches, single] = stretchesOf(times)
  for (const { fromMs, toMs } of stretches)
    for (const sample of await readStoredTimes(questdb, kind, deviceId, { fromMs, toMs, receivedBeforeMs })) add(sample)
  for (let start = 0; start < single.length; start += timesAtOnce) {
    const some = { times: single.slice(start, start + timesAtOnce), receivedBeforeMs }
    for (const sample of await readStoredAmong(questdb, kind, deviceId, some)) add(sample)
  }
  return stored
}

/**
 * Old samples are usually close together. Each group is read as one range, so that a wide gap is not read. Groups with few
 * samples are looked up by time in one statement; otherwise scattered samples would need one statement each.
 */
function stretchesOf(times: readonly number[]): [stretches: TimeRange[], single: number[]] {
  const stretches: TimeRange[] = []
  const single: number[] = []
  for (let start = 0; start < times.length; ) {
    const fromMs = times[start] ?? 0
    let end = start
    while (end + 1 < times.length && (times[end + 1] ?? 0) - fromMs <= rangeMs) end += 1
    if (end - start < fewTimes) single.push(...times.slice(start, end + 1))
    else stretches.push({ fromMs, toMs: times[end] ?? fromMs })
    start = end + 1
  }
  return [stretches, single]
}

const keyOf = (deviceId: string, kind: Kind) => `${deviceId} ${kind}`
