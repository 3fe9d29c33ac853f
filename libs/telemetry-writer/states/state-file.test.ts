import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { StatesReference } from '#telemetry-log/checkpoints/checkpoint'
import { folderBytes } from '#telemetry-log/checkpoints/folder-bytes'
import type { StateChange } from './state-blocks.ts'
import { openStateFile, type StateFile } from './state-file.ts'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'states-'))
  folders.push(folder)
  return folder
}

function openIn(folder: string, reference?: StatesReference, mayWrite = () => true) {
  const givenUp: unknown[] = []
  const file = openStateFile({ folder, reference, mayWrite, onGivenUp: (error) => givenUp.push(error) })
  return { file, givenUp }
}

/** Opens a file and returns its states by device, or undefined if it is not complete. */
function reopen(folder: string, reference: StatesReference | undefined) {
  const states = new Map<string, string>()
  const { file } = openIn(folder, reference)
  const isComplete = file.load((change) => {
    if (change.kind === 'put') states.set(change.state.deviceId, describe(change))
    else if (change.kind === 'remove') states.delete(change.deviceId)
  })
  return { file, states: isComplete ? states : undefined }
}

const describe = ({ state }: Extract<StateChange, { kind: 'put' }>): string =>
  JSON.stringify([state.position, state.usedAtMs, state.settleDueMs === Infinity, state.packed.toString('hex')])

let monotonicMs = performance.now() + 2 * 60 * 60_000
/** Writes a file anew, because it has been outdated for an hour, unless a former file is still needed. */
function rewrite(file: StateFile, present: Iterator<StateChange>): void {
  monotonicMs += 1_000
  file.tidy(monotonicMs, 0, () => present)
}

const device = fc.integer({ min: 0, max: 9 }).map((number) => `device-${number}`)
const put = fc
  .record({
    deviceId: device,
    position: fc.nat(),
    usedAtMs: fc.integer({ min: 0, max: 2 ** 42 }),
    settleDueMs: fc.constantFrom(Infinity, 0),
    packed: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
  })
  .map((state): StateChange => ({ kind: 'put', state }))
const removal = device.map((deviceId): StateChange => ({ kind: 'remove', deviceId }))
const change = fc.oneof({ weight: 3, arbitrary: put }, removal)
const step = fc.oneof({ weight: 6, arbitrary: change }, fc.constantFrom('flush' as const, 'rewrite' as const))

test('a file has the states of its last flush, also after it was written anew', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), fc.boolean(), (steps, isReleased) => {
      const folder = newFolder()
      const { file } = openIn(folder)
      file.load(() => {})
      const present = new Map<string, StateChange>()
      let [reference, expected] = [undefined as StatesReference | undefined, new Map<string, StateChange>()]
      for (const one of steps) {
        if (one === 'flush') {
          reference = file.flush()
          expected = new Map(present)
          if (isReleased) file.release(reference)
        } else if (one === 'rewrite') {
          rewrite(file, present.values())
        } else {
          file.add(one)
          if (one.kind === 'put') present.set(one.state.deviceId, one)
          else if (one.kind === 'remove') present.delete(one.deviceId)
        }
      }
      file.close()
      const { states, file: next } = reopen(folder, reference)
      next.close()
      const shown = [...expected].map(([id, state]) => [id, state.kind === 'put' && describe(state)] as const)
      if (reference) expect(states).toEqual(new Map(shown))
      else expect(states).toBeUndefined()
      rmSync(folder, { recursive: true })
    }),
    { numRuns: 200 },
  )
})

/** A file with a state at its first flush, and another one behind the reference. */
function twoFlushes() {
  const folder = newFolder()
  const { file } = openIn(folder)
  file.load(() => {})
  const state = (deviceId: string): StateChange => ({
    ...{ kind: 'put', state: { deviceId, position: 1, usedAtMs: 2, settleDueMs: 3, packed: Buffer.from('packed') } },
  })
  file.add(state('first'))
  const reference = file.flush()
  if (!reference) throw new Error('No states are kept.')
  file.add(state('second'))
  const later = file.flush()
  file.close()
  return { folder, reference, bytes: later?.bytes ?? 0, path: join(folder, reference.name) }
}

test('what a crash cuts off behind the checkpoint is ignored, and what it cuts off before makes the file incomplete', () => {
  const { folder, reference, bytes, path } = twoFlushes()
  for (let length = bytes; length >= 0; length--) {
    truncateSync(path, length)
    const { states, file } = reopen(folder, reference)
    file.close()
    if (length < reference.bytes) expect(states).toBeUndefined()
    else expect([...(states?.keys() ?? [])]).toEqual(length === bytes ? ['first', 'second'] : ['first'])
    if (length < reference.bytes) break
  }
})

test('damaged bytes behind the checkpoint end the file, and it continues from there', () => {
  const { folder, reference, bytes, path } = twoFlushes()
  appendFileSync(path, Buffer.alloc(500))
  const { states, file } = reopen(folder, reference)
  expect(states?.size).toBe(2)
  expect(statSync(path).size).toBe(bytes)
  file.add({ kind: 'remove', deviceId: 'first' })
  const next = file.flush()
  file.close()
  expect([...(reopen(folder, next).states?.keys() ?? [])]).toEqual(['second'])
})

test('the file of an earlier checkpoint stays until the next checkpoint is durable', () => {
  const { folder, reference } = twoFlushes()
  const { file } = reopen(folder, reference)
  rewrite(file, [][Symbol.iterator]())
  expect(readdirSync(folder)).toHaveLength(2)
  rewrite(file, [][Symbol.iterator]())
  file.release(reference)
  expect(readdirSync(folder)).toHaveLength(2)
  const next = file.flush()
  expect(next?.name).not.toBe(reference.name)
  file.release(next)
  expect(readdirSync(folder)).toEqual([next?.name])
  file.close()
})

test('without a reference no states are read, and the files of earlier processes are deleted', () => {
  const { folder, reference } = twoFlushes()
  const { states, file } = reopen(folder, undefined)
  expect(states).toBeUndefined()
  const names = readdirSync(folder)
  expect(names).toHaveLength(1)
  expect(names).not.toContain(reference.name)
  file.close()
})

test('a file that cannot be written is given up and deleted', () => {
  const { folder, reference, path } = twoFlushes()
  const { file, givenUp } = openIn(folder, reference)
  file.load(() => {})
  rmSync(folder, { recursive: true })
  rewrite(file, [][Symbol.iterator]())
  expect(givenUp).toMatchObject([{ code: 'ENOENT' }])
  file.add({ kind: 'remove', deviceId: 'first' })
  expect(file.flush()).toBeUndefined()
  rewrite(file, [][Symbol.iterator]())
  expect(readdirSync(join(folder, '..')).includes(path)).toBe(false)
  file.close()
  expect(givenUp).toHaveLength(1)
})

test('a process that lost the partition writes nothing', () => {
  const { folder, reference, bytes, path } = twoFlushes()
  const { file } = openIn(folder, reference, () => false)
  file.load(() => {})
  file.add({ kind: 'remove', deviceId: 'first' })
  expect(file.flush()).toBeUndefined()
  expect(statSync(path).size).toBe(bytes)
  file.close()
})

test('files of states do not count as bytes of the log', () => {
  expect(folderBytes(twoFlushes().folder)).toBe(0)
})
