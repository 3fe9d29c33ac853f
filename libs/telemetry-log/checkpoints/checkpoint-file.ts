import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32c } from '@node-rs/crc32'
import { z } from 'zod'
import { syncFolder } from '#files/private-folder'
import { type Checkpoint, statesSuffix } from './checkpoint.ts'

/*
 * Two slots of fixed size in one file, written in turn, so that a checkpoint needs no room on a full disk and a torn
 * write leaves the previous one. A slot, little-endian:
 *   0 magic u32 | 4 CRC32C u32 of everything after it | 8 payload length u32 | 12 zeros | 16 sequence f64 | 24 JSON
 */
const slotBytes = 16 * 1024
const slotCount = 2
const slotHeaderBytes = 24
const magic = 0x50_43_46_52 // "RFCP"
const fileName = 'checkpoint.slots'
/** The checkpoint file of an earlier version. */
const earlierFileName = 'checkpoint.json'

const checkpointSchema = z.object({
  position: z.number(),
  counts: z.object({ stored: z.number(), replaced: z.number(), deadLettered: z.number() }),
  atMs: z.number(),
  history: z.array(z.object({ position: z.number(), atMs: z.number() })),
  serverStartMs: z.number().optional(),
  resumePosition: z.number().optional(),
  states: z.object({ name: z.string(), bytes: z.number() }).optional(),
})

/** Returns the last durable checkpoint of the folder. Undefined if none can be read. */
export function readCheckpoint(folder: string): Checkpoint | undefined {
  const bytes = readIfAny(join(folder, fileName))
  const newest = bytes && newestSlot(bytes)
  if (newest) return newest.checkpoint
  const earlier = readIfAny(join(folder, earlierFileName))
  return earlier && parseCheckpoint(earlier.toString())
}

/**
 * Replaces the checkpoint durably: a crash leaves the old one or the new one, never a mixture. Throws when the slots do
 * not exist yet and the disk has no room for them.
 */
export function writeCheckpoint(folder: string, checkpoint: Checkpoint): void {
  const fd = openSync(join(folder, fileName), constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    if (fstatSync(fd).size < slotCount * slotBytes) reserveSlots(folder, fd)
    const newest = newestSlot(readFileSync(join(folder, fileName)))
    const index = newest === undefined ? 0 : (newest.index + 1) % slotCount
    const slot = encodeSlot(checkpoint, (newest?.sequence ?? 0) + 1)
    let written = 0
    while (written < slot.length) written += writeSync(fd, slot, written, undefined, index * slotBytes + written)
    fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
  rmSync(join(folder, earlierFileName), { force: true })
}

/** Deletes the checkpoint of the folder, and the files of states that it may refer to. */
export function removeCheckpoint(folder: string): void {
  const states = readdirSync(folder).filter((name) => name.endsWith(statesSuffix))
  for (const name of [earlierFileName, fileName, ...states]) rmSync(join(folder, name), { force: true })
}

function reserveSlots(folder: string, fd: number): void {
  const zeros = Buffer.alloc(slotCount * slotBytes)
  let size = fstatSync(fd).size
  while (size < zeros.length) size += writeSync(fd, zeros, size, undefined, size)
  fsyncSync(fd)
  syncFolder(folder)
}

function encodeSlot(checkpoint: Checkpoint, sequence: number): Buffer {
  const payload = Buffer.from(JSON.stringify(checkpoint))
  const slot = Buffer.alloc(slotBytes)
  if (payload.copy(slot, slotHeaderBytes) < payload.length) throw new Error('The checkpoint is larger than its slot.')
  slot.writeUInt32LE(magic, 0)
  slot.writeUInt32LE(payload.length, 8)
  slot.writeDoubleLE(sequence, 16)
  slot.writeUInt32LE(crc32c(slot.subarray(8)), 4)
  return slot
}

type Slot = { index: number; sequence: number; checkpoint: Checkpoint }

function newestSlot(file: Buffer): Slot | undefined {
  let newest: Slot | undefined
  for (let index = 0; index < slotCount; index++) {
    const bytes = file.subarray(index * slotBytes, (index + 1) * slotBytes)
    if (bytes.length < slotBytes || bytes.readUInt32LE(0) !== magic) continue
    if (bytes.readUInt32LE(4) !== crc32c(bytes.subarray(8))) continue
    const sequence = bytes.readDoubleLE(16)
    if (newest && newest.sequence >= sequence) continue
    const payload = bytes.toString('utf8', slotHeaderBytes, slotHeaderBytes + bytes.readUInt32LE(8))
    const checkpoint = parseCheckpoint(payload)
    if (checkpoint) newest = { index, sequence, checkpoint }
  }
  return newest
}

function parseCheckpoint(text: string): Checkpoint | undefined {
  try {
    return checkpointSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

function readIfAny(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}
