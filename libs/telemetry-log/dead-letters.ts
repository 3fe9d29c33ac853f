import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { LogPosition } from '#telemetry-log/log'

/** What could not be stored is kept here for an operator, never dropped. */
export const deadLetterFolder = (logFolder: string): string => join(logFolder, 'dead-letter')

/** Keeps bytes of the log that are no valid frame, named by where they stood; writing them again changes nothing. */
export function saveDamagedBytes(logFolder: string, position: LogPosition, bytes: Buffer): void {
  writeDurably(logFolder, `damaged-${String(position).padStart(16, '0')}.bin`, 'w', bytes)
}

/** Appends lines to a dead-letter file of this day and makes them durable before it returns. */
export function appendDeadLetters(logFolder: string, atMs: number, letters: readonly object[]): void {
  const day = new Date(atMs).toISOString().slice(0, 10)
  const lines = letters.map((letter) => `${JSON.stringify(letter)}\n`).join('')
  writeDurably(logFolder, `rows-${day}.jsonl`, 'a', Buffer.from(lines))
}

function writeDurably(logFolder: string, name: string, flags: 'a' | 'w', bytes: Buffer): void {
  const folder = deadLetterFolder(logFolder)
  mkdirSync(folder, { recursive: true })
  const fd = openSync(join(folder, name), flags)
  try {
    let written = 0
    while (written < bytes.length) written += writeSync(fd, bytes, written)
    fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
