import { decodeBatch } from '#telemetry/report/accept'
import type { LoggedBatch } from '#telemetry-log/log'
import type { DecodedReport } from './sightings.ts'

/** Decodes reports of the log. A report that cannot be decoded comes back with its failure. */
export type DecodeReport = (batch: LoggedBatch) => DecodedReport | Promise<DecodedReport>

/** Smaller bodies make little whatever they hold. */
const denseFromBytes = 256 * 1024
/** Text of fields has a value every ten bytes or more; more than one in five makes much of little text. */
const denseShare = 0.2
const comma = 0x2c
const bracket = 0x5b
const brace = 0x7b

/** True when the values of a body would take many times the memory of its text. */
export function isDense(body: Buffer): boolean {
  if (body.length <= denseFromBytes) return false
  let values = 0
  for (let index = 0; index < body.length; index++) {
    const byte = body[index]
    if (byte === comma || byte === bracket || byte === brace) values++
  }
  return values > denseShare * body.length
}

/** Decodes a report in this thread. */
export function decodeHere(batch: LoggedBatch): DecodedReport {
  try {
    const decoded = decodeBatch(batch.body, batch.format, batch)
    return { batch, samples: decoded.ok ? decoded.samples : [] }
  } catch (failure) {
    return { batch, samples: [], failure }
  }
}
