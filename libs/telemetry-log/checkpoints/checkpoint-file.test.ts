import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Checkpoint, nextCheckpoint } from './checkpoint.ts'
import { readCheckpoint, writeCheckpoint } from './checkpoint-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoint-file-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const at = (position: number): Checkpoint => ({
  position,
  counts: { stored: position, replaced: 0, deadLettered: 0 },
  atMs: position,
  history: [],
})
const slotsPath = () => join(folder, 'checkpoint.slots')

test('the last checkpoint is read back, and its file does not grow', () => {
  expect(readCheckpoint(folder)).toBeUndefined()
  writeCheckpoint(folder, at(1))
  const { size } = statSync(slotsPath())
  for (let position = 2; position < 10; position++) {
    writeCheckpoint(folder, at(position))
    expect(readCheckpoint(folder)).toEqual(at(position))
  }
  expect(statSync(slotsPath()).size).toBe(size)
})

test('a torn write leaves the previous checkpoint or the new one', () => {
  writeCheckpoint(folder, at(1))
  writeCheckpoint(folder, at(2))
  const before = readFileSync(slotsPath())
  writeCheckpoint(folder, at(3))
  const after = readFileSync(slotsPath())
  const changed = [...after.keys()].filter((index) => after[index] !== before[index])
  const [first = 0, last = 0] = [changed[0], changed.at(-1)]
  fc.assert(
    fc.property(fc.integer({ min: first, max: last }), fc.boolean(), (cut, isFrontNew) => {
      const [front, back] = isFrontNew ? [after, before] : [before, after]
      writeFileSync(slotsPath(), Buffer.concat([front.subarray(0, cut), back.subarray(cut)]))
      expect([at(2), at(3)]).toContainEqual(readCheckpoint(folder))
    }),
  )
})

test('the checkpoint of an earlier version is read, and the first write deletes its file', () => {
  writeFileSync(join(folder, 'checkpoint.json'), JSON.stringify(at(7)))
  expect(readCheckpoint(folder)).toEqual(at(7))
  writeCheckpoint(folder, at(8))
  expect(readdirSync(folder)).toEqual(['checkpoint.slots'])
  expect(readCheckpoint(folder)).toEqual(at(8))
})

test('a checkpoint with the longest history fits into its slot', () => {
  let checkpoint = at(0)
  const counts = { stored: 9e15, replaced: 9e15, deadLettered: 9e15 }
  for (let step = 0; step < 200; step++) {
    const next = { position: 9e15 - 200 + step, counts, atMs: 1.8e12 + step * 15_000.123456 }
    checkpoint = nextCheckpoint(checkpoint, next, 15 * 60_000)
  }
  writeCheckpoint(folder, checkpoint)
  expect(readCheckpoint(folder)).toEqual(checkpoint)
})
