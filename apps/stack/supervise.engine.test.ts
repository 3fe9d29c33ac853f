import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startProcess, stopProcess } from './engines/process.ts'
import { type PartEvent, type Started, supervise } from './supervise.ts'

const dir = await mkdtemp(join(tmpdir(), 'routerfleet-supervise-'))
afterAll(() => rm(dir, { recursive: true, force: true }))

/** A real child process running `script`; its signals and its end are real ones too. */
async function child(script: string): Promise<Started> {
  const pidFile = join(dir, randomBytes(4).toString('hex'))
  const process = await startProcess('node', ['-e', script], { logFile: `${pidFile}.log`, pidFile })
  const stop = () => stopProcess(process, [{ signal: 'SIGKILL', deadlineMs: 5_000 }], pidFile)
  return { pid: process.pid, exited: process.exited, stop }
}

const forEver = 'setInterval(() => {}, 1000)'

/** Collects events and lets a test wait for one. */
function recorder() {
  const events: PartEvent[] = []
  const waiting: { kind: PartEvent['kind']; resolve: () => void }[] = []
  return {
    events,
    report: (event: PartEvent) => {
      events.push(event)
      for (const one of waiting.filter(({ kind }) => kind === event.kind)) one.resolve()
    },
    next: (kind: PartEvent['kind']) => new Promise<void>((resolve) => waiting.push({ kind, resolve })),
  }
}

test('a killed part restarts within five seconds as a new process', async () => {
  const { events, report, next } = recorder()
  const part = await supervise(() => child(forEver), report)
  const first = part.current().pid
  const restarted = next('restarted')
  const killedAt = Date.now()
  process.kill(first, 'SIGKILL')
  await restarted
  expect(Date.now() - killedAt).toBeLessThan(5_000)
  expect(events[0]).toMatchObject({ kind: 'ended', how: 'was ended by SIGKILL' })
  expect(part.current().pid).not.toBe(first)
  await part.stop()
  await expect(part.current().exited).resolves.toBeDefined()
})

test('restart delays of a part that exits immediately grow to at most two seconds', async () => {
  const waits: number[] = []
  let enough: () => void = () => {}
  const seen = new Promise<void>((resolve) => {
    enough = resolve
  })
  const part = await supervise(
    () => child(''),
    (event) => {
      if (event.kind === 'ended') waits.push(event.restartInMs)
      if (waits.length === 3) enough()
    },
  )
  await seen
  await part.stop()
  expect(waits).toEqual([200, 400, 800])
})

test('a failed restart is retried until it succeeds', async () => {
  const { events, report, next } = recorder()
  let starts = 0
  const part = await supervise(async () => {
    starts += 1
    if (starts === 2) throw new Error('not yet')
    return child(forEver)
  }, report)
  const restarted = next('restarted')
  process.kill(part.current().pid, 'SIGKILL')
  await restarted
  expect(events.map((event) => event.kind)).toEqual(['ended', 'refused', 'restarted'])
  await part.stop()
})

test('a failed first start rejects with the reason of the part', async () => {
  const start = () => Promise.reject(new Error('install Java'))
  await expect(supervise(start, () => {})).rejects.toThrow('install Java')
})

test('stopping during a restart delay leaves no process', async () => {
  const { report, next } = recorder()
  let starts = 0
  const part = await supervise(() => {
    starts += 1
    return child('')
  }, report)
  await next('ended')
  await part.stop()
  const startsAtStop = starts
  await expect(part.current().exited).resolves.toBeDefined()
  expect(starts).toBe(startsAtStop)
})

test('a child with an IPC channel notices the exit of its parent', async () => {
  const marker = join(dir, 'orphan-ended')
  const parentScript = join(dir, 'parent.mjs')
  const orphan = `process.once('disconnect', () => { require('fs').writeFileSync(${JSON.stringify(marker)}, 'yes') })`
  const processModule = join(import.meta.dirname, 'engines/process.ts')
  await writeFile(
    parentScript,
    `const { startProcess } = await import(${JSON.stringify(processModule)})
     await startProcess('node', ['-e', ${JSON.stringify(orphan)}], { logFile: '${dir}/o.log', pidFile: '${dir}/o', channel: true })
     process.kill(process.pid, 'SIGKILL')`,
  )
  const parent = await startProcess('node', [parentScript], { logFile: join(dir, 'p.log'), pidFile: join(dir, 'p') })
  await expect(parent.exited).resolves.toBe('was ended by SIGKILL')
  await expect.poll(() => readFile(marker, 'utf8').catch(() => ''), { timeout: 10_000 }).toBe('yes')
})
