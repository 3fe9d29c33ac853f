import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { lockPath, newestLock } from '#telemetry-log/lock/lock-file'
import { ownIdentity } from '#telemetry-log/lock/process-identity'
import { until } from '#test/until'
import { openSegmentLog } from './segment-log.ts'
import { openSegmentReader } from './segment-reader.ts'
import { listSegments } from './segments.ts'

const node = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url))
const appender = fileURLToPath(new URL('../../../test/support/append-until-killed.ts', import.meta.url))
const takeoverLimitMs = 60_000

const root = mkdtempSync(join(tmpdir(), 'telemetry-log-takeover-'))
const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(root, { recursive: true, maxRetries: 5 })
})
const newFolder = () => mkdtempSync(join(root, 'log-'))

/** An appender, what it acknowledged so far, and what it says when it ends. */
function startAppender(folder: string, first: number, command: readonly string[] = []) {
  const [program = node, ...before] = [...command, node]
  const child = spawn(program, [...before, appender, folder, String(first)], { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  let complaint = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  return {
    child,
    closed: once(child, 'close') as Promise<[number | null]>,
    // The last line may be cut.
    acknowledged: () =>
      output
        .slice(0, output.lastIndexOf('\n') + 1)
        .split('\n')
        .filter(Boolean)
        .map(Number),
    complaint: () => complaint,
  }
}

type Appender = ReturnType<typeof startAppender>

const isAppending = (appending: Appender) => async () => appending.acknowledged().length > 0

async function numbersInLog(folder: string): Promise<Set<number>> {
  const log = await openSegmentLog({ folder })
  const { position } = log.tail()
  const found = new Set<number>()
  const reader = openSegmentReader({ folder, from: 0, onDamage: () => {} })
  for (let chunk = reader.read(position, 1); chunk.length > 0; chunk = reader.read(position, 1)) {
    for (const { body } of chunk) found.add(Number(body.toString().split(':')[0]))
  }
  reader.close()
  await log.close()
  return found
}

test.concurrent('of several starts after a crash exactly one gets the log, the others end with one sentence', async () => {
  const folder = newFolder()
  for (let round = 0; round < 3; round++) {
    const crashed = startAppender(folder, round * 1_000_000)
    await until('the first one appends', isAppending(crashed), takeoverLimitMs)
    crashed.child.kill('SIGKILL')
    await crashed.closed
    const starts = [1, 2, 3, 4].map((index) => startAppender(folder, round * 1_000_000 + index * 100_000))
    await until(
      'three have ended',
      async () => starts.filter(({ child }) => child.exitCode !== null).length >= 3,
      takeoverLimitMs,
    )
    const [winner, ...more] = starts.filter(({ child }) => child.exitCode === null)
    expect(more).toEqual([])
    for (const loser of starts.filter((start) => start !== winner)) {
      await loser.closed
      expect(loser.complaint()).toMatch(/^The telemetry log \S+ is in use by process \d+ on \S+; stop it .*\.\n$/)
      expect(loser.acknowledged()).toEqual([])
    }
    if (!winner) throw new Error('All of them ended.')
    expect(starts.flatMap((start) => start.complaint()).join('')).toContain(`process ${winner.child.pid} `)
    await until('the winner appends', isAppending(winner), takeoverLimitMs)
    winner.child.kill('SIGKILL')
    await winner.closed
    const found = await numbersInLog(folder)
    expect([...crashed.acknowledged(), ...winner.acknowledged()].filter((number) => !found.has(number))).toEqual([])
  }
}, 120_000)

test.concurrent('a frozen process loses the log, acknowledges nothing more and ends; the log keeps what both acknowledged', async () => {
  const folder = newFolder()
  const frozen = startAppender(folder, 0)
  await until('it appends', isAppending(frozen), takeoverLimitMs)
  frozen.child.kill('SIGSTOP')
  const next = startAppender(folder, 1_000_000)
  await until('the next one appends', async () => next.acknowledged().length > 200, takeoverLimitMs)
  frozen.child.kill('SIGCONT')
  expect((await frozen.closed)[0]).toBe(1)
  expect(frozen.complaint()).toMatch(/taken over|can no longer be written/)
  const before = next.acknowledged().length
  await until('the next one goes on', async () => next.acknowledged().length > before + 200, takeoverLimitMs)
  next.child.kill('SIGKILL')
  await next.closed
  const found = await numbersInLog(folder)
  expect([...frozen.acknowledged(), ...next.acknowledged()].filter((number) => !found.has(number))).toEqual([])
}, 120_000)

const ownNamespace = ['unshare', '--fork', '--pid', '--kill-child', '--mount-proc']
const hasNamespaces = spawnSync(ownNamespace[0] ?? '', [...ownNamespace.slice(1), 'true']).status === 0

test.concurrent('two processes with id 1 in containers of their own do not share a log', async ({ skip }) => {
  if (!hasNamespaces) return skip('needs the right to make process namespaces (run as root on Linux).')
  const folder = newFolder()
  const first = startAppender(folder, 0, ownNamespace)
  await until('it appends', isAppending(first), takeoverLimitMs)
  const second = startAppender(folder, 1_000_000, ownNamespace)
  await second.closed
  expect(second.complaint()).toMatch(/is in use by process 1 on/)
  first.child.kill('SIGKILL')
  await first.closed
  // Nothing tells that the other container has ended, except that its lock is no longer kept alive.
  const startedMs = Date.now()
  const third = startAppender(folder, 2_000_000, ownNamespace)
  await until('it takes over', isAppending(third), takeoverLimitMs)
  expect(Date.now() - startedMs).toBeGreaterThan(6_000)
  third.child.kill('SIGKILL')
  await third.closed
  const found = await numbersInLog(folder)
  expect([...first.acknowledged(), ...third.acknowledged()].filter((number) => !found.has(number))).toEqual([])
}, 120_000)

/** A lock as a process with our own id in another container leaves it. */
function lockFromElsewhere(folder: string): string {
  writeFileSync(lockPath(folder, 1), JSON.stringify({ ...ownIdentity(), pidNamespace: 'pid:[1]', host: 'elsewhere' }))
  return lockPath(folder, 1)
}

test.concurrent('a lock with our own process id from elsewhere is respected while it is kept alive', async () => {
  const folder = newFolder()
  await (await openSegmentLog({ folder })).close()
  rmSync(newestLock(folder)?.path ?? '')
  const path = lockFromElsewhere(folder)
  const beating = setInterval(() => utimesSync(path, new Date(), new Date()), 200)
  await expect(openSegmentLog({ folder })).rejects.toThrow(`in use by process ${process.pid} on elsewhere`)
  clearInterval(beating)
  // Once it is stale the log is taken over, without touching the file that the other one may still write to.
  const next = await openSegmentLog({ folder })
  expect(listSegments(folder)).toHaveLength(2)
  await next.close()
}, 60_000)
