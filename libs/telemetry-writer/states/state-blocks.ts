import { crc32c } from '@node-rs/crc32'
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
  packed: Uint8Array
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
  let bytes = Buffer.allocUnsafeSlow(firstBytes)
  let end = headBytes

  const reserve = (count: number): void => {
    if (end + count <= bytes.length) return
    const longer = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, end + count))
    bytes.copy(longer, 0, 0, end)
    bytes = longer
  }
  const addHead = (kind: number, deviceId: string): void => {
    bytes[end++] = kind
    bytes[end++] = deviceId.length
    end += bytes.write(deviceId, end, 'latin1')
  }
  const addPut = ({ deviceId, position, usedAtMs, settleDueMs, packed }: KeptState): void => {
    reserve(2 + deviceId.length + 28 + packed.length)
    addHead(putKind, deviceId)
    for (const value of [position, usedAtMs, settleDueMs]) end = bytes.writeDoubleLE(value, end)
    end = bytes.writeUInt32LE(packed.length, end)
    bytes.set(packed, end)
    end += packed.length
  }

  return {
    add(change) {
      if (change.kind === 'put') addPut(change.state)
      else {
        reserve(2 + change.deviceId.length)
        addHead(removeKind, change.deviceId)
      }
    },
    bytes: () => end - headBytes,
    take(number) {
      const block = bytes.subarray(0, end)
      block.writeUInt32LE(magic, 0)
      block.writeUInt32LE(end - headBytes, 8)
      block.writeUInt32LE(number, 12)
      block.writeUInt32LE(stateVersion, 16)
      block.writeUInt32LE(crc32c(block.subarray(8)), 4)
      end = headBytes
      return block
    },
  }
}

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
    readChanges(changes, visit)
    bytes += headBytes + length
  }
}

function readChanges(bytes: Buffer, visit: (change: StateChange) => void): void {
  let at = 0
  const readDeviceId = (): string => {
    const length = bytes[at++] ?? 0
    at += length
    return bytes.toString('latin1', at - length, at)
  }
  const readDouble = (): number => {
    at += 8
    return bytes.readDoubleLE(at - 8)
  }
  const readBytes = (): Buffer => {
    const from = at + 4
    at = from + bytes.readUInt32LE(at)
    return bytes.subarray(from, at)
  }
  while (at < bytes.length) {
    const kind = bytes[at++]
    if (kind === removeKind) visit({ kind: 'remove', deviceId: readDeviceId() })
    else {
      const deviceId = readDeviceId()
      const [position, usedAtMs, settleDueMs] = [readDouble(), readDouble(), readDouble()]
      visit({ kind: 'put', state: { deviceId, position, usedAtMs, settleDueMs, packed: readBytes() } })
    }
  }
}
