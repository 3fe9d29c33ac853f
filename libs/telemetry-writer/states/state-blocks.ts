import { crc32c } from '@node-rs/crc32'
import {
  type ByteRecord,
  byteIn,
  bytesIn,
  createByteRecord,
  numberIn,
  place,
  recordOf,
  unread,
  writtenIn,
} from '#core/byte-record'
import type { LogPosition } from '#telemetry-log/log'
import { stateVersion } from './device-state.ts'

/** The packed state of a device between two reports. */
export type KeptState = {
  /** At most 255 characters of Latin-1. */
  deviceId: string
  /** Every report of the device that the state includes is before this position. */
  position: LogPosition
  usedAtMs: number
  /** When the state has something to settle if no report arrives before. */
  settleDueMs: number
  packed: Buffer
}

/** A change of the kept states. */
export type StateChange = { kind: 'put'; state: KeptState } | { kind: 'remove'; deviceId: string }

/** Collects changes. */
export type StateBlock = {
  add(change: StateChange): void
  /** The bytes of the changes that were added since `take`. */
  bytes(): number
  /** Returns the changes as a block, which is valid until the next call of `add`. `number`: its place in the file. */
  take(number: number): Buffer
}

/*
 * A block, little-endian:
 *   0 magic u32 | 4 CRC32C u32 of everything after it | 8 bytes of changes u32 | 12 number u32 | 16 version of states u32 | 20 changes
 * A change begins with its kind u8. Put: device, position f64, used at f64, settle due f64, length u32, packed. Remove: device. A device is its length u8 and its id.
 */
const headBytes = 20
const magic = 0x54_53_46_52 // "RFST"
const [putKind, removeKind] = [1, 2]
const firstBytes = 64 * 1024

export function createStateBlock(): StateBlock {
  const record = createByteRecord(firstBytes)
  record.at = headBytes
  return {
    add: (change) => void changeIn(record, change),
    bytes: () => record.at - headBytes,
    take(number) {
      const block = writtenIn(record)
      block.writeUInt32LE(magic, 0)
      block.writeUInt32LE(block.length - headBytes, 8)
      block.writeUInt32LE(number, 12)
      block.writeUInt32LE(stateVersion, 16)
      block.writeUInt32LE(crc32c(block.subarray(8)), 4)
      record.at = headBytes
      return block
    },
  }
}

function changeIn(record: ByteRecord, change: StateChange = unread): StateChange {
  const kind = byteIn(record, change.kind === 'put' ? putKind : removeKind)
  if (kind === putKind) return { kind: 'put', state: stateIn(record, change.kind === 'put' ? change.state : unread) }
  return { kind: 'remove', deviceId: deviceIdIn(record, change.kind === 'remove' ? change.deviceId : unread) }
}

function deviceIdIn(record: ByteRecord, deviceId: string): string {
  const length = byteIn(record, record.isReading ? 0 : deviceId.length)
  const at = place(record, length)
  if (record.isReading) return record.memory.toString('latin1', at, record.at)
  record.memory.write(deviceId, at, 'latin1')
  return deviceId
}

const stateIn = (record: ByteRecord, state: KeptState): KeptState => ({
  deviceId: deviceIdIn(record, state.deviceId),
  position: numberIn(record, state.position),
  usedAtMs: numberIn(record, state.usedAtMs),
  settleDueMs: numberIn(record, state.settleDueMs),
  packed: bytesIn(record, state.packed),
})

/**
 * Calls `visit` with the changes of each block, as long as blocks are complete and in order. `read` returns bytes of the file, or
 * fewer at its end. Returns the end of the last block and the number of blocks.
 */
export function readStateBlocks(
  read: (from: number, length: number) => Buffer,
  visit: (change: StateChange) => void,
): { bytes: number; blocks: number } {
  for (let [bytes, blocks] = [0, 0]; ; blocks++) {
    const head = read(bytes, headBytes)
    if (head.length < headBytes || head.readUInt32LE(0) !== magic) return { bytes, blocks }
    if (head.readUInt32LE(12) !== blocks || head.readUInt32LE(16) !== stateVersion) return { bytes, blocks }
    const length = head.readUInt32LE(8)
    const changes = read(bytes + headBytes, length)
    const isComplete = changes.length === length && crc32c(changes, crc32c(head.subarray(8))) === head.readUInt32LE(4)
    if (!isComplete) return { bytes, blocks }
    for (const record = recordOf(changes); record.at < length; ) visit(changeIn(record))
    bytes += headBytes + length
  }
}
