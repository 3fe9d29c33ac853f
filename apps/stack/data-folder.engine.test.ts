import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { replaceFile } from '#files/durable-file'
import { dataFolder, emptyDataFolder, lockDataFolder } from './data-folder.ts'
import { commandLine } from './engines/command-line.ts'
import { startProcess, stopProcess } from './engines/process.ts'
import { stopLeftovers } from './leftovers.ts'
import { boundLogs } from './log-files.ts'

const root = await mkdtemp(join(tmpdir(), 'routerfleet-data-'))
afterAll(() => rm(root, { recursive: true, force: true }))

let count = 0
async function freshFolder() {
  count += 1
  const folder = dataFolder(join(root, String(count)))
  await mkdir(folder.run, { recursive: true })
  return folder
}

/** A living process whose command line looks like a supervisor's. */
const supervisorLike = (dir: string) =>
  startProcess('node', ['-e', 'setInterval(() => {}, 1000)', 'apps/stack/main.ts'], {
    logFile: join(dir, 'holder.log'),
    pidFile: join(dir, 'holder'),
  })

test('a second start on a folder in use fails with one sentence that says what to do', async () => {
  const folder = await freshFolder()
  const holder = await supervisorLike(folder.dir)
  await writeFile(join(folder.dir, 'lock'), `${holder.pid} running\n`)
  await expect(lockDataFolder(folder)).rejects.toThrow(
    `${folder.dir} is in use by process ${holder.pid}: stop that one, or choose another --data-dir and --port.`,
  )
  await stopProcess(holder, [{ signal: 'SIGKILL', deadlineMs: 5_000 }], join(folder.dir, 'holder'))
})

test('a start waits for another one that is stopping', async () => {
  const folder = await freshFolder()
  const holder = await supervisorLike(folder.dir)
  await writeFile(join(folder.dir, 'lock'), `${holder.pid} stopping\n`)
  const waiting = lockDataFolder(folder)
  await stopProcess(holder, [{ signal: 'SIGKILL', deadlineMs: 5_000 }], join(folder.dir, 'holder'))
  const lock = await waiting
  expect(await readFile(join(folder.dir, 'lock'), 'utf8')).toBe(`${process.pid} running\n`)
  await lock.release()
  expect(await readdir(folder.dir)).not.toContain('lock')
})

test('a start takes the lock of a killed start, even if the system has reused its process id', async () => {
  const folder = await freshFolder()
  await writeFile(join(folder.dir, 'lock'), `${process.ppid} running\n`)
  const lock = await lockDataFolder(folder)
  await lock.release()
})

test('a start stops the processes of a killed start, but no other process with a recorded id', async () => {
  const folder = await freshFolder()
  const script = 'setInterval(() => {}, 1000)'
  const options = { logFile: join(folder.logs, 'x.log') }
  const ours = await startProcess('node', ['-e', script, folder.dir], {
    ...options,
    pidFile: join(folder.run, 'ingest'),
  })
  const deaf = `process.on('SIGINT', () => {}); ${script}`
  const stranger = await startProcess('node', ['-e', deaf, 'other'], {
    ...options,
    pidFile: join(folder.run, 'worker'),
  })
  expect(await stopLeftovers(folder)).toEqual(['ingest'])
  await expect(ours.exited).resolves.toBe('was ended by SIGINT')
  expect(await commandLine(stranger.pid)).toContain('other')
  expect(await readdir(folder.run)).toEqual([])
  await stopProcess(stranger, [{ signal: 'SIGKILL', deadlineMs: 5_000 }], join(folder.run, 'worker'))
})

test('a fresh start removes the data of earlier starts and leaves other files', async () => {
  const folder = await freshFolder()
  await mkdir(folder.postgres)
  await replaceFile(folder.accessFile, '{}')
  await writeFile(join(folder.dir, 'photo.jpg'), 'mine')
  await emptyDataFolder(folder)
  expect(await readdir(folder.dir)).toEqual(['photo.jpg'])
})

test('only its owner can read a private file', async () => {
  const folder = await freshFolder()
  await replaceFile(folder.accessFile, '{}')
  expect((await stat(folder.accessFile)).mode & 0o777).toBe(0o600)
})

test('a large log is copied once and truncated while its process writes', async () => {
  const folder = await freshFolder()
  const logFile = join(folder.logs, 'ingest.log')
  const pidFile = join(folder.run, 'ingest')
  const writer = await startProcess('node', ['-e', "setInterval(() => console.log('x'.repeat(99)), 5)"], {
    logFile,
    pidFile,
  })
  const logs = boundLogs(folder, 1_000)
  await expect.poll(async () => (await stat(logFile)).size).toBeGreaterThan(1_000)
  await logs.now()
  expect((await stat(`${logFile}.1`)).size).toBeGreaterThan(1_000)
  await expect.poll(async () => (await stat(logFile)).size).toBeGreaterThan(0)
  expect((await readFile(logFile, 'utf8'))[0]).toBe('x')
  logs.end()
  await stopProcess(writer, [{ signal: 'SIGKILL', deadlineMs: 5_000 }], pidFile)
})
