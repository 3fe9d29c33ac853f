import { closeSync, fsyncSync, openSync, readdirSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32c } from '@node-rs/crc32'
import { syncFolder } from '#files/private-folder'
import type { LogPosition } from '#telemetry-log/log'

/** A segment starts with 32 bytes: magic, CRC32C of the rest, version, zeros, base position, samples before it. */
export const segmentHeaderBytes = 32
const segmentMagic = 0x47_53_46_52 // "RFSG"
const segmentVersion = 1
const suffix = '.segment'

export type Segment = { path: string; base: LogPosition }

/** The log's segments, oldest first. A segment is named by the position of its first byte. */
export function listSegments(folder: string): Segment[] {
  return readdirSync(folder)
    .filter((name) => /^\d{16}\.segment$/.test(name))
    .sort()
    .map((name) => ({ path: join(folder, name), base: Number(name.slice(0, -suffix.length)) }))
}

/**
 * Creates the segment that begins at `base`, durable in itself and in its folder, and returns its open descriptor.
 * Throws when there is one.
 */
export function createSegment(folder: string, base: LogPosition, samplesBefore: number): { path: string; fd: number } {
  const path = join(folder, `${String(base).padStart(16, '0')}${suffix}`)
  const header = Buffer.alloc(segmentHeaderBytes)
  header.writeUInt32LE(segmentMagic, 0)
  header.writeUInt8(segmentVersion, 8)
  header.writeDoubleLE(base, 16)
  header.writeDoubleLE(samplesBefore, 24)
  header.writeUInt32LE(crc32c(header.subarray(8)), 4)
  // Fail if the file exists: another process may have created it.
  const fd = openSync(path, 'wx+', 0o600)
  try {
    writeSync(fd, header, 0, header.length, 0)
    fsyncSync(fd)
    syncFolder(folder)
    return { path, fd }
  } catch (error) {
    closeSync(fd)
    unlinkSync(path)
    throw error
  }
}

/** How many samples lie before the segment, or undefined when its header is incomplete or damaged. */
export function readSegmentHeader(fd: number, base: LogPosition): number | undefined {
  const header = Buffer.alloc(segmentHeaderBytes)
  if (readSync(fd, header, 0, header.length, 0) < header.length) return undefined
  const valid =
    header.readUInt32LE(0) === segmentMagic &&
    header.readUInt8(8) === segmentVersion &&
    header.readUInt32LE(4) === crc32c(header.subarray(8)) &&
    header.readDoubleLE(16) === base
  return valid ? header.readDoubleLE(24) : undefined
}

/** Deletes the segments that end at or before `position`; but never the newest one. Returns their number. */
export function deleteSegmentsBefore(folder: string, position: LogPosition): number {
  const segments = listSegments(folder)
  const drained = segments.filter((_, index) => (segments[index + 1]?.base ?? Number.POSITIVE_INFINITY) <= position)
  for (const segment of drained) unlinkSync(segment.path)
  if (drained.length > 0) syncFolder(folder)
  return drained.length
}

/**
 * Deletes segments that end at or before `position`, oldest first, until `bytes` bytes are freed, but never the newest
 * one. Returns the number of freed bytes.
 */
export function deleteOldestSegments(folder: string, position: LogPosition, bytes: number): number {
  const segments = listSegments(folder)
  let freed = 0
  for (const [index, { path, base }] of segments.entries()) {
    const end = segments[index + 1]?.base
    if (end === undefined || end > position || freed >= bytes) break
    unlinkSync(path)
    freed += end - base
  }
  if (freed > 0) syncFolder(folder)
  return freed
}

/** `length` bytes of a file from offset `from`, or fewer when it ends before. */
export function readRange(fd: number, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length)
  let filled = 0
  while (filled < length) {
    const count = readSync(fd, bytes, filled, length - filled, from + filled)
    if (count === 0) return bytes.subarray(0, filled)
    filled += count
  }
  return bytes
}
