import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { preparePrivateFolder, syncFolder } from '#files/private-folder'
import { deviceClasses, formats } from '#telemetry-log/frame'
import type { LogPosition, TelemetryBatch } from '#telemetry-log/log'

const rowSchema = z.object({
  /** RFC 3339. */
  at: z.string(),
  reason: z.string(),
  table: z.string(),
  /** Measurement, symbols and timestamp, for people. */
  key: z.string(),
  /** The row in line protocol, base64. */
  row: z.string(),
})

const reportSchema = z.object({
  at: z.string(),
  reason: z.string(),
  deviceId: z.string(),
  organizationId: z.string(),
  deviceClass: z.enum(deviceClasses),
  receivedAtMs: z.number(),
  oldestTsMs: z.number(),
  format: z.enum(formats),
  sampleCount: z.number(),
  /** The decompressed body as the device sent it, base64. */
  body: z.string(),
})

/** A row that QuestDB rejected. */
export type DeadRow = z.infer<typeof rowSchema>

/** A whole report that the writer could not turn into rows. */
export type DeadReport = z.infer<typeof reportSchema>

export type DeadLetter = DeadRow | DeadReport

const letterSchema = z.union([rowSchema, reportSchema])

/** Data that could not be stored is kept in this folder for an operator. */
export const deadLetterFolder = (logFolder: string): string => join(logFolder, 'dead-letter')

/** Files with one letter a line. */
export const isLetterFile = (name: string): boolean => /^(rows|reports)-.*\.jsonl$/.test(name)

/** The dead letter of a report that was read from the log. */
export function deadReportOf(batch: TelemetryBatch, reason: string, atMs: number): DeadReport {
  const { deviceId, organizationId, deviceClass, receivedAtMs, oldestTsMs, format, sampleCount, body } = batch
  return {
    at: new Date(atMs).toISOString(),
    reason,
    deviceId,
    organizationId,
    deviceClass,
    receivedAtMs,
    oldestTsMs,
    format,
    sampleCount,
    body: body.toString('base64'),
  }
}

/** Reads one line of a letter file. Undefined when the line is not a letter, for example after a crash cut it off. */
export function parseDeadLetter(line: string): DeadLetter | undefined {
  try {
    return letterSchema.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

export const isDeadReport = (letter: DeadLetter): letter is DeadReport => 'body' in letter

/** Where a partition keeps its dead letters. All partitions share the folder of the log. */
export type DeadLetterPlace = { logFolder: string; partition: number }

/** Saves bytes of the log that are not a valid frame, named by their position. Repeating it changes nothing. */
export function saveDamagedBytes(place: DeadLetterPlace, position: LogPosition, bytes: Buffer): void {
  writeDurably(place.logFolder, `damaged-${String(position).padStart(16, '0')}${suffixOf(place)}.bin`, 'w', bytes)
}

/**
 * Appends letters to the files of this day, `rows-<day>.jsonl` and `reports-<day>.jsonl`, and makes them durable before
 * it returns. Throws if the disk is full; the files are then unchanged.
 */
export function appendDeadLetters(place: DeadLetterPlace, atMs: number, letters: readonly DeadLetter[]): void {
  const day = new Date(atMs).toISOString().slice(0, 10) + suffixOf(place)
  const { logFolder } = place
  const reports = letters.filter(isDeadReport)
  const rows = letters.filter((letter) => !isDeadReport(letter))
  if (rows.length > 0) writeDurably(logFolder, `rows-${day}.jsonl`, 'a', linesOf(rows))
  if (reports.length > 0) writeDurably(logFolder, `reports-${day}.jsonl`, 'a', linesOf(reports))
}

/** Each partition has its own files, because truncating after a failed write must not remove letters of another thread. */
const suffixOf = ({ partition }: DeadLetterPlace): string => (partition === 0 ? '' : `-p${partition}`)

const linesOf = (letters: readonly DeadLetter[]): Buffer =>
  Buffer.from(letters.map((letter) => `${JSON.stringify(letter)}\n`).join(''))

function writeDurably(logFolder: string, name: string, flags: 'a' | 'w', bytes: Buffer): void {
  const folder = deadLetterFolder(logFolder)
  preparePrivateFolder(folder)
  const fd = openSync(join(folder, name), flags, 0o600)
  const sizeBefore = fstatSync(fd).size
  try {
    let written = 0
    while (written < bytes.length) written += writeSync(fd, bytes, written)
    fdatasyncSync(fd)
    // A new file, or one whose creation was not durable when an earlier call failed.
    if (sizeBefore === 0) for (const changed of [folder, logFolder]) syncFolder(changed)
  } catch (error) {
    cutBack(fd, sizeBefore)
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Removes an incomplete last line, which would make the next line unreadable too. */
function cutBack(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size)
  } catch {
    // The caller throws a more specific error.
  }
}
