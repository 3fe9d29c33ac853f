import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, unlinkSync } from 'node:fs'
import { syncFolder } from '#files/private-folder'
import { type DeadLetterPlace, saveDamagedBytes } from '#telemetry-log/dead-letters/dead-letters'
import { findFrame, maxFrameBytes, readFrame } from '#telemetry-log/frame'
import type { LogTail } from '#telemetry-log/log'
import { createSegment, listSegments, readRange, readSegmentHeader, segmentHeaderBytes } from './segments.ts'

/** The segment to append to: open for reading and writing, and empty after `tail.position`. */
export type OpenSegment = { fd: number; path: string; base: number; tail: LogTail }

/**
 * Opens the newest segment and truncates it after the last valid frame, or creates the first one. Truncated bytes that are
 * damage and not a torn write are saved in `dead-letter/`.
 */
export function openNewestSegment(folder: string, deadLetters: DeadLetterPlace): OpenSegment {
  const newest = listSegments(folder).at(-1)
  if (newest === undefined) {
    return { ...createSegment(folder, 0, 0), base: 0, tail: { position: segmentHeaderBytes, samples: 0 } }
  }
  const fd = openSync(newest.path, 'r+')
  const samplesBefore = readSegmentHeader(fd, newest.base)
  if (samplesBefore === undefined && fstatSync(fd).size <= segmentHeaderBytes) {
    // The process crashed between creating the segment and its first sync, so the segment has no frame.
    closeSync(fd)
    unlinkSync(newest.path)
    syncFolder(folder)
    return openNewestSegment(folder, deadLetters)
  }
  const scan = scanSegment(fd, newest.base, samplesBefore ?? 0)
  const size = fstatSync(fd).size
  if (scan.end < size) {
    if (scan.damaged) saveDamagedBytes(deadLetters, newest.base + scan.end, readRange(fd, scan.end, size - scan.end))
    ftruncateSync(fd, scan.end)
    fdatasyncSync(fd)
  }
  return { fd, path: newest.path, base: newest.base, tail: { position: newest.base + scan.end, samples: scan.samples } }
}

/** Reads the whole segment. Returns the end of its last valid frame, and whether damage or a torn write follows. */
function scanSegment(fd: number, base: number, samplesBefore: number) {
  const bytes = readRange(fd, 0, fstatSync(fd).size)
  let samples = samplesBefore
  let end = segmentHeaderBytes
  let offset: number | undefined = segmentHeaderBytes
  let damaged = false
  while (offset !== undefined && offset < bytes.length) {
    const found = readFrame(bytes, offset, bytes.length, base)
    if (found.kind === 'frame') {
      samples = found.batch.firstSample + found.batch.sampleCount
      end = found.end
      offset = found.end
      damaged = false
    } else {
      // A torn write is the last thing in the file and shorter than its length says; anything else is damage.
      damaged ||= found.kind === 'damaged' || bytes.length - offset > maxFrameBytes
      offset = findFrame(bytes, offset, bytes.length, base)
      damaged ||= offset !== undefined
    }
  }
  return { end, samples, damaged }
}
