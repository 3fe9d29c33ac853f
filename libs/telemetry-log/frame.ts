import { crc32c } from '@node-rs/crc32'
import type { DeviceClass } from '#telemetry/position/dwell'
import type { BatchFormat } from '#telemetry/report/envelope'
import type { LoggedBatch, LogPosition, TelemetryBatch } from '#telemetry-log/log'
import { isKnownCoding, type StoredBody, storedBodyOf } from '#telemetry-log/stored-body'

/*
 * One frame, little-endian:
 *   0 magic u32 | 4 CRC32C u32 of everything after it | 8 body length u32 | 12 version u8 | 13 format u8
 *  14 device class u8 | 15 coding u8 | 16 sample count u32 | 20 first sample f64 | 28 received at f64 | 36 oldest ts f64
 *  44 device id, 16 bytes | 60 organization id, 16 bytes | 76 body
 * The magic lets a reader find the next frame after damaged bytes. The number of the first sample tells it how many samples
 * were lost. The checksum includes the frame's position, so that a frame inside a request body is not accepted.
 */
export const frameHeaderBytes = 76
const maxBodyBytes = 1024 * 1024
export const maxFrameBytes = frameHeaderBytes + maxBodyBytes

const magic = 0x46_54_46_52 // "RFTF"
const magicBytes = Buffer.from([0x52, 0x46, 0x54, 0x46])
/** Version 1 has no coding. */
const frameVersions = { plain: 1, coded: 2 }
// Values are stored by their index in these lists, so only append to them.
export const formats = ['json', 'ndjson'] as const satisfies readonly BatchFormat[]
export const deviceClasses = ['vehicle', 'ship', 'fixed'] as const satisfies readonly DeviceClass[]

/**
 * Writes the batch as a frame at `offset` of `target`, which must have room, and returns the offset behind it.
 * `basePosition` is the log position that byte 0 of `target` will have.
 */
export function writeFrame(
  target: Buffer,
  offset: number,
  basePosition: LogPosition,
  batch: TelemetryBatch,
  firstSample: number,
): number {
  const { codingCode, bytes: body } = storedBodyOf(batch)
  const end = offset + frameHeaderBytes + body.length
  target.writeUInt32LE(magic, offset)
  target.writeUInt32LE(body.length, offset + 8)
  target[offset + 12] = codingCode === 0 ? frameVersions.plain : frameVersions.coded
  target[offset + 13] = formats.indexOf(batch.format)
  target[offset + 14] = deviceClasses.indexOf(batch.deviceClass)
  target[offset + 15] = codingCode
  target.writeUInt32LE(batch.sampleCount, offset + 16)
  target.writeDoubleLE(firstSample, offset + 20)
  target.writeDoubleLE(batch.receivedAtMs, offset + 28)
  target.writeDoubleLE(batch.oldestTsMs, offset + 36)
  writeUuid(target, offset + 44, batch.deviceId)
  writeUuid(target, offset + 60, batch.organizationId)
  body.copy(target, offset + frameHeaderBytes)
  target.writeUInt32LE(checksum(target, offset, end, basePosition), offset + 4)
  return end
}

/** A batch whose body is encoded as in the frame. */
export type FramedBatch = Omit<LoggedBatch, 'body'> & { stored: StoredBody }

/** The content at `offset`: a valid frame and its end, a frame that continues after `end`, or damage. */
export type FrameAt = { kind: 'frame'; batch: FramedBatch; end: number } | { kind: 'partial' } | { kind: 'damaged' }

/**
 * Reads the frame at `offset` of `bytes`, of which `end` are filled; `basePosition` is the log position of byte 0.
 * The stored body is a view into `bytes`.
 */
export function readFrame(bytes: Buffer, offset: number, end: number, basePosition: LogPosition): FrameAt {
  if (end - offset < frameHeaderBytes)
    return isMagicPrefix(bytes, offset, end) ? { kind: 'partial' } : { kind: 'damaged' }
  if (bytes.readUInt32LE(offset) !== magic) return { kind: 'damaged' }
  const bodyBytes = bytes.readUInt32LE(offset + 8)
  const format = formats[bytes[offset + 13] ?? -1]
  const deviceClass = deviceClasses[bytes[offset + 14] ?? -1]
  const version = bytes[offset + 12]
  const codingCode = version === frameVersions.coded ? bytes[offset + 15] : 0
  if (version !== frameVersions.plain && version !== frameVersions.coded) return { kind: 'damaged' }
  if (bodyBytes > maxBodyBytes || !isKnownCoding(codingCode) || !format || !deviceClass) return { kind: 'damaged' }
  const frameEnd = offset + frameHeaderBytes + bodyBytes
  if (frameEnd > end) return { kind: 'partial' }
  if (checksum(bytes, offset, frameEnd, basePosition) !== bytes.readUInt32LE(offset + 4)) return { kind: 'damaged' }
  const batch: FramedBatch = {
    deviceId: readUuid(bytes, offset + 44),
    organizationId: readUuid(bytes, offset + 60),
    deviceClass,
    receivedAtMs: bytes.readDoubleLE(offset + 28),
    oldestTsMs: bytes.readDoubleLE(offset + 36),
    format,
    sampleCount: bytes.readUInt32LE(offset + 16),
    stored: { codingCode: codingCode ?? 0, bytes: bytes.subarray(offset + frameHeaderBytes, frameEnd) },
    firstSample: bytes.readDoubleLE(offset + 20),
    position: basePosition + offset,
    nextPosition: basePosition + frameEnd,
  }
  return { kind: 'frame', batch, end: frameEnd }
}

/** Returns the offset of the next complete valid frame after `offset`, or undefined. */
export function findFrame(bytes: Buffer, offset: number, end: number, basePosition: LogPosition): number | undefined {
  const filled = bytes.subarray(0, end)
  for (let at = filled.indexOf(magicBytes, offset + 1); at >= 0; at = filled.indexOf(magicBytes, at + 1)) {
    if (readFrame(bytes, at, end, basePosition).kind === 'frame') return at
  }
  return undefined
}

function checksum(bytes: Buffer, offset: number, end: number, basePosition: LogPosition): number {
  return crc32c(bytes.subarray(offset + 8, end), (basePosition + offset) % 0x1_0000_0000)
}

function isMagicPrefix(bytes: Buffer, offset: number, end: number): boolean {
  for (let index = 0; index < 4 && offset + index < end; index++) {
    if (bytes[offset + index] !== magicBytes[index]) return false
  }
  return true
}

function writeUuid(target: Buffer, offset: number, uuid: string): void {
  target.write(uuid.replaceAll('-', ''), offset, 16, 'hex')
}

function readUuid(bytes: Buffer, offset: number): string {
  const hex = bytes.toString('hex', offset, offset + 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
