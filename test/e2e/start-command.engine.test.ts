import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { createTestDatabase } from '#test/database'
import { readableByOthers } from '#test/private-data'
import { questdbConnection } from '#test/questdb'
import { shortLivedEnvironment } from '#test/short-lived-questdb'
import { endsOfLogs } from '#test/started-product'
import { until } from '#test/until'
import { freePort } from '../../apps/stack/engines/process.ts'

const repository = join(import.meta.dirname, '../..')
const root = await mkdtemp(join(tmpdir(), 'routerfleet-start-'))
const dataDir = join(root, 'data')
const minute = 60_000
const { QUESTDB_JAVA_OPTIONS: javaOptions } = shortLivedEnvironment

type Run = { child: ChildProcess; output(): string; saw(text: string): Promise<true> }

const started: ChildProcess[] = []
afterEach(async () => {
  for (const child of started.splice(0)) if (child.exitCode === null) child.kill('SIGTERM')
  await vi.waitFor(() => expect(processesOnFolder()).toEqual([]), { timeout: minute }).catch(killAll)
}, 2 * minute)
afterAll(() => rm(root, { recursive: true, force: true }))

/** Stops databases that a failed test left without a supervisor. */
function killAll(): void {
  for (const { pid } of processesOnFolder()) process.kill(pid, 'SIGKILL')
}

/** Runs `npm start` with a folder of this test, in a separate process group as in a terminal. */
function start(folder = dataDir, environment: Record<string, string> = {}): Run {
  const args = ['apps/stack/bootstrap.mjs', '--port', '0', '--data-dir', folder, '--no-demo']
  const env = { ...process.env, ...shortLivedEnvironment, ...environment }
  const child = spawn('node', args, { cwd: repository, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const saw = (text: string) =>
    until(`the start prints "${text}"`, async () => output.includes(text), 3 * minute).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${output}\n${endsOfLogs(folder)}`)
    })
  return { child, output: () => output, saw }
}

/** Returns the running processes whose command line contains the data folder. */
function processesOnFolder(): { pid: number; line: string }[] {
  const processes = globSync('/proc/[0-9]*').map((path) => ({ pid: Number(basename(path)), line: commandLineIn(path) }))
  return processes.filter(({ line }) => line.includes(root))
}

function commandLineIn(path: string): string {
  try {
    return readFileSync(join(path, 'cmdline'), 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

const readAccess = async (folder = dataDir) => JSON.parse(await readFile(join(folder, 'access.json'), 'utf8'))
const pidOf = async (path: string) => Number(await readFile(join(dataDir, path), 'utf8'))

async function call(method: string, path: string, body?: unknown) {
  const { baseUrl, adminKey } = await readAccess()
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const answer = await fetch(baseUrl + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  return { status: answer.status, body: await answer.text() }
}

const statusOf = (path: string) =>
  call('GET', path).then(
    ({ status }) => status,
    () => 0,
  )

/** Registers a device that reports over the gateway. Returns the settings with which the next start starts the gateway. */
async function prepareGateway(organizationId: string) {
  const device = { organizationId, serial: 'SN-1', name: 'Boat', model: 'R1' }
  const { id } = JSON.parse((await call('POST', '/devices', device)).body)
  const keys = `/orgs/${organizationId}/enrollment-keys`
  const created = await call('POST', keys, { name: 'Gateway', autoCreate: false, allowGateway: true })
  const port = await freePort()
  return {
    environment: { GATEWAY_KEY: JSON.parse(created.body).key, NMEA_PORT: String(port) },
    /** Sends a position to the gateway, and returns the newest telemetry of the device. */
    async receivePosition(): Promise<string> {
      const position = { class: 'TPV', mode: 3, time: new Date().toISOString(), lat: 50.07, lon: 14.46 }
      connect(port, '127.0.0.1')
        .on('error', () => {})
        .end(`SERIAL:SN-1\n${JSON.stringify(position)}\n`)
      return (await call('GET', `/api/router/${id}/telemetry/latest`)).body
    },
  }
}

test('npm start serves, restarts parts, survives a kill and leaves no processes', {
  timeout: 8 * minute,
}, async () => {
  const first = start()
  await first.saw('Ready: http://127.0.0.1:')
  const access = await readAccess()
  expect(access).toMatchObject({ demoKey: null, demoOrganizationId: null, adminKey: expect.stringMatching(/^flk_/) })
  expect((await stat(join(dataDir, 'access.json'))).mode & 0o777).toBe(0o600)
  expect(await statusOf('/readyz')).toBe(200)
  // After the default ones, so that they take precedence.
  const [defaultOptions] = commandLineIn(`/proc/${await pidOf('questdb/pid')}`).split(javaOptions)
  expect(defaultOptions).toMatch(/ -XX:\+UseParallelGC .* $/)
  const organization = await call('POST', '/orgs', { name: 'Kept across starts' })
  expect(organization.status).toBe(201)
  const gateway = await prepareGateway(JSON.parse(organization.body).id)

  // A second start on the same folder is refused and does not affect the first.
  const second = start()
  const [secondCode] = await once(second.child, 'exit')
  expect(secondCode).toBe(1)
  expect(second.output()).toMatch(/is in use by process \d+: stop that one/)
  expect(await statusOf('/readyz')).toBe(200)

  for (const part of ['run/worker', 'run/ingest', 'run/control-plane', 'postgres/pid', 'questdb/pid']) {
    const killed = await pidOf(part)
    process.kill(killed, 'SIGKILL')
    await expect.poll(() => pidOf(part), { timeout: minute }).not.toBe(killed)
  }
  await expect.poll(() => statusOf('/readyz'), { timeout: 2 * minute, interval: 100 }).toBe(200)

  expect(readableByOthers(dataDir)).toEqual([])

  // An installation of an earlier version, whose folders everybody can read.
  for (const name of ['.', 'questdb', 'telemetry-log', 'logs', 'secrets']) await chmod(join(dataDir, name), 0o755)
  expect(readableByOthers(dataDir)).not.toEqual([])

  // Killing the process group of the terminal leaves the databases, which have their own process groups.
  process.kill(-(first.child.pid ?? 0), 'SIGKILL')
  await once(first.child, 'exit')
  const third = start(dataDir, gateway.environment)
  await third.saw('Ready: http://127.0.0.1:')
  expect(third.output()).toContain('Stopped Postgres, left over from a killed start.')
  expect(readableByOthers(dataDir)).toEqual([])
  expect((await readAccess()).adminKey).toBe(access.adminKey)
  expect((await call('GET', '/orgs')).body).toContain('Kept across starts')
  await expect.poll(gateway.receivePosition, { timeout: minute }).toContain('"lat":50.07')

  third.child.kill('SIGINT')
  const [code] = await once(third.child, 'exit')
  expect(code).toBe(0)
  const stops = [...third.output().matchAll(/(\S+) +stopped in/g)].map(([, part]) => part)
  expect(stops).toEqual(['gateway', 'control-plane', 'worker', 'ingest', 'QuestDB', 'Postgres'])
  expect(processesOnFolder()).toEqual([])

  // An empty master secret is not replaced, because the stored secrets need the one that it had.
  const secret = join(dataDir, 'secrets/config-secrets-key')
  await writeFile(secret, '')
  const fourth = start()
  expect(await once(fourth.child, 'exit')).toEqual([1, null])
  expect(fourth.output()).toContain(`${secret} is empty, but must have a secret. Restore it from a backup`)
  expect(await readFile(secret, 'utf8')).toBe('')
})

test('databases from the environment replace the embedded ones', { timeout: 5 * minute }, async () => {
  const folder = join(root, 'external')
  const database = await createTestDatabase()
  const { httpUrl, pgUrl, user, password } = questdbConnection()
  const run = start(folder, {
    POSTGRES_URL: database.url,
    QUESTDB_URL: httpUrl,
    QUESTDB_PG_URL: pgUrl,
    QUESTDB_USER: user,
    QUESTDB_PASSWORD: password,
  })
  await run.saw('Ready: http://127.0.0.1:')
  const { baseUrl, adminKey } = await readAccess(folder)
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200)
  const organizations = await fetch(`${baseUrl}/orgs`, { headers: { authorization: `Bearer ${adminKey}` } })
  expect(organizations.status).toBe(200)
  expect(await readdir(folder)).not.toEqual(expect.arrayContaining(['postgres']))
  expect(await readdir(folder)).not.toEqual(expect.arrayContaining(['questdb']))
  run.child.kill('SIGTERM')
  expect(await once(run.child, 'exit')).toEqual([0, null])
  await database.drop()
})

test('SIGTERM ends a start that waits for QuestDB', { timeout: 3 * minute }, async () => {
  const database = await createTestDatabase()
  const port = await freePort()
  const run = start(join(root, 'waiting'), {
    POSTGRES_URL: database.url,
    QUESTDB_URL: `http://127.0.0.1:${port}`,
    QUESTDB_PG_URL: `postgresql://admin:quest@127.0.0.1:${port}/qdb`,
  })
  await run.saw('waiting for all parts')
  run.child.kill('SIGTERM')
  expect(await once(run.child, 'exit')).toEqual([0, null])
  await database.drop()
})
