import { frameHeaderBytes, readFrame, writeFrame } from '#telemetry-log/frame'
import type { TelemetryBatch } from '#telemetry-log/log'
import { decompressBody, storedBodyOf } from '#telemetry-log/stored-body'

/*
 * A record of the topic:
 *   key: the device id as text, so that Kafka's default partitioner keeps the reports of a device together
 *   value: one frame of the segment log, at position 0, with 0 as its first sample
 *   header `samples`: the number of accepted samples as decimal text, for counting a value that cannot be decoded
 */
const samplesHeader = Buffer.from('samples')

export type KafkaRecordParts = { key: Buffer; value: Buffer; headers: Map<Buffer, Buffer> }

/** Returns the record of a batch. */
export function encodeRecord(batch: TelemetryBatch): KafkaRecordParts {
  const value = Buffer.allocUnsafe(frameHeaderBytes + storedBodyOf(batch).bytes.length)
  writeFrame(value, 0, 0, batch, 0)
  return {
    key: Buffer.from(batch.deviceId),
    value,
    headers: new Map([[samplesHeader, Buffer.from(String(batch.sampleCount))]]),
  }
}

/** Returns the batch of a record's value, or undefined if the value is not exactly one valid frame. */
export function decodeRecord(value: Buffer): TelemetryBatch | undefined {
  const found = readFrame(value, 0, value.length, 0)
  if (found.kind !== 'frame' || found.end !== value.length) return undefined
  const { stored, firstSample, position, nextPosition, ...batch } = found.batch
  try {
    return { ...batch, body: decompressBody(stored) }
  } catch {
    return undefined
  }
}

/** Returns the number of samples in a record's headers, or 0 if there is none. */
export function samplesInHeaders(headers: readonly (readonly [Buffer | null, Buffer | null])[]): number {
  const count = Number(headers.find(([name]) => name?.equals(samplesHeader))?.[1]?.toString())
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
