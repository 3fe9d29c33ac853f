import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isLeaseHeld } from './lease.ts'
import { type FolderLock, lockFolder } from './lock.ts'
import { claimLock, isSuperseded, newestLock } from './lock-file.ts'
import { ownIdentity } from './process-identity.ts'

let folder: string
let children: ChildProcess[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'telemetry-log-lock-'))
  children = []
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

test('after a clean stop the next process starts at once; a second start in the same process fails', async () => {
  const lock = await lockFolder(folder)
  await expect(lockFolder(folder)).rejects.toThrow(`in use by process ${process.pid} on`)
  await lock.release()
  const again = await lockFolder(folder)
  expect(again.mayHaveRival).toBe(false)
  expect(again.lease.generation).toBe(lock.lease.generation + 1)
  expect(isLeaseHeld(again.lease)).toBe(true)
  await again.release()
})

test('a generation is used only once, also by a process that waited', async () => {
  const locks: FolderLock[] = []
  for (let generation = 1; generation <= 3; generation++) {
    const lock = await lockFolder(folder)
    await lock.release()
    locks.push(lock)
  }
  expect(newestLock(folder)?.generation).toBe(3)
  expect(claimLock(folder, 2, ownIdentity())).toBeUndefined()
  expect(claimLock(folder, 3, ownIdentity())).toBeUndefined()
  expect(newestLock(folder)?.generation).toBe(3)
  expect(locks.map(({ lease }) => isSuperseded(folder, lease.generation))).toEqual([true, true, false])
})

test('a process detects that another process has taken over the lock', async () => {
  const lock = await lockFolder(folder)
  const fd = claimLock(folder, lock.lease.generation + 1, ownIdentity())
  expect(fd).toBeDefined()
  expect((await lock.lost).message).toMatch(/Another process has taken over/)
  expect(isLeaseHeld(lock.lease)).toBe(false)
  await lock.release()
})

test('the lock of an earlier version is respected while its process lives', async () => {
  const { boot, startedTicks, pid } = ownIdentity()
  const child = spawn('sleep', ['60'])
  children.push(child)
  const statText = spawnSync('cat', [`/proc/${child.pid}/stat`], { encoding: 'utf8' }).stdout
  const ticks = statText.slice(statText.lastIndexOf(')') + 2).split(' ')[19]
  writeFileSync(join(folder, 'lock'), JSON.stringify({ pid: child.pid, startedAt: `${boot}:${ticks}` }))
  await expect(lockFolder(folder)).rejects.toThrow(`in use by process ${child.pid}`)
  writeFileSync(join(folder, 'lock'), JSON.stringify({ pid, startedAt: `an earlier boot:${startedTicks}` }))
  const lock = await lockFolder(folder)
  expect(readdirSync(folder)).toEqual([`lock-${'1'.padStart(16, '0')}`])
  await lock.release()
})
