import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { readableByOthers } from '#test/private-data'
import { killProcessesOn, type StartedProduct, startProduct } from '#test/started-product'
import { refreshCoverage } from '#test/telemetry-rows'
import { until } from '#test/until'

const run = promisify(execFile)
const repository = join(import.meta.dirname, '../..')
const minute = 60_000

let root: string
let dataDir: string
let source: StartedProduct
let restored: StartedProduct | undefined
/** The backup that the tests restore. */
let backup: string
let sent: SentReports

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'routerfleet-backup-'))
  dataDir = join(root, 'source')
  source = await startProduct(dataDir, { environment: { COUNT: '20', HISTORY_MINUTES: '30' } })
  sent = await startReporting(source)
}, 6 * minute)
afterAll(async () => {
  await sent?.stop()
  await restored?.stop()
  await source?.stop()
  killProcessesOn(root)
  await rm(root, { recursive: true, force: true })
}, 2 * minute)

/** Runs `npm run backup` or `npm run restore` as docs/operations.md says. Returns its exit code and output. */
async function command(name: 'backup' | 'restore', ...args: string[]): Promise<{ code: number; output: string }> {
  try {
    const { stdout, stderr } = await run('npm', ['run', '--silent', name, '--', ...args], { cwd: repository })
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, output: stdout + stderr }
  }
}

type SentReports = {
  organizationId: string
  deviceId: string
  token: string
  /** Times of the samples that were accepted, in order. */
  acceptedAt: string[]
  stop(): Promise<void>
}

/** Registers a device in a new organization, which reports one location after the other until it is stopped. */
async function startReporting({ call }: StartedProduct): Promise<SentReports> {
  const { id: organizationId } = await call('POST', '/orgs', { name: 'Reports during the backup', plan: 'pro' })
  const { id: deviceId } = await call('POST', '/devices', { organizationId, serial: 'SN-1', name: 'R', model: 'RX' })
  const { token } = await call('POST', `/devices/${deviceId}/token`, {})
  const acceptedAt: string[] = []
  const stopping = new AbortController()
  const reporting = (async () => {
    while (!stopping.signal.aborted) {
      const ts = new Date().toISOString()
      const sample = { kind: 'location', ts, lat: 51.8 + acceptedAt.length / 1e5, lon: -8.2, fix: '3d', accuracyM: 4 }
      // A refused report is not sent again, because the test counts accepted ones.
      await call('POST', '/telemetry', { samples: [sample] }, token).then(
        () => acceptedAt.push(ts),
        () => undefined,
      )
      // A device may report twice a second.
      await delay(500, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  })()
  return {
    organizationId,
    deviceId,
    token,
    acceptedAt,
    stop: async () => {
      stopping.abort()
      await reporting
    },
  }
}

/** Members that depend on the time of the request: ages, windows, and whether a device counts as online. */
const timeDependent = new Set([
  ...['asOf', 'window', 'ageMs', 'durationS', 'nextCursor'],
  ...['status', 'byStatus', 'lastSeenAt', 'updatedAt'],
])

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => !timeDependent.has(name))
  return Object.fromEntries(members.map(([name, member]) => [name, comparable(member)]))
}

/** Returns the members in which two answers differ, as `path: before → after`. */
function differences(before: unknown, after: unknown, path = ''): string[] {
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null)
    return Object.is(before, after) ? [] : [`${path}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`]
  const [left, right] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((name) =>
    differences(left.get(name), right.get(name), `${path}.${name}`),
  )
}

/** The requests whose answers must be the same, for the demo organization as of `to`. */
async function requestsOf({ call, access }: StartedProduct, to: string): Promise<string[]> {
  const organizationId = access.demoOrganizationId
  const devices = await call('GET', `/devices?orgId=${organizationId}&limit=200`)
  const groups = await call('GET', `/orgs/${organizationId}/groups`)
  const configs = await call('GET', `/orgs/${organizationId}/configs`)
  const batches = await call('GET', `/orgs/${organizationId}/job-batches`)
  const ids = (list: { items: { id: string }[] }) => list.items.map(({ id }) => id)
  const from = new Date(Date.parse(to) - 20 * minute).toISOString()
  const [first = ''] = ids(devices)
  return [
    '/orgs',
    `/orgs/${organizationId}/usage`,
    `/devices?orgId=${organizationId}&limit=200`,
    ...ids(devices).map((id) => `/devices/${id}`),
    `/orgs/${organizationId}/groups`,
    ...ids(groups).map((id) => `/orgs/${organizationId}/groups/${id}/devices?limit=200`),
    `/orgs/${organizationId}/configs`,
    ...ids(configs).map((id) => `/orgs/${organizationId}/configs/${id}`),
    `/orgs/${organizationId}/jobs?limit=200`,
    ...ids(batches).map((id) => `/orgs/${organizationId}/job-batches/${id}`),
    // Without the entries of the system, which notices meanwhile that the fleet is silent.
    `/orgs/${organizationId}/audit?limit=200&actor=key:${access.demoKey.split('_')[1]}`,
    ...ids(devices).map((id) => `/api/router/${id}/telemetry/history?from=${from}&to=${to}&limit=10000`),
    `/api/router/${first}/telemetry/history?from=${from}&to=${to}&kind=cellular&stepSeconds=60`,
    ...ids(devices).map((id) => `/api/router/${id}/telemetry/latest`),
    `/fleet/dwells?orgId=${organizationId}&from=${from}&to=${to}`,
    `/fleet/gps?orgId=${organizationId}&sinceMinutes=120`,
  ]
}

async function answersOf(product: StartedProduct, requests: readonly string[]) {
  const answers: Record<string, unknown> = {}
  for (const path of requests) answers[path] = comparable(await product.call('GET', path))
  return answers
}

// An open dwell settles within 25 s, and cells of coverage are cached for 25 s.
const settledMs = 60_000

/** Returns the answers when they have not changed for a minute, in which the views of coverage are refreshed. */
async function settledAnswers(product: StartedProduct, requests: readonly string[]) {
  let answers = await answersOf(product, requests)
  let changedAtMs = Date.now()
  let changes: string[] = []
  const haveSettled = async () => {
    const previous = answers
    await questdb(dataDir, refreshCoverage)
    answers = await answersOf(product, requests)
    const changed = differences(previous, answers)
    if (changed.length > 0) {
      changes = changed
      changedAtMs = Date.now()
    }
    return Date.now() - changedAtMs > settledMs
  }
  await until('the answers no longer change', haveSettled, 4 * minute).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${changes.join('\n')}`)
  })
  return answers
}

/** Runs a batch of jobs to its end, so that the demo organization has finished jobs. */
async function runJobs({ call, access }: StartedProduct): Promise<void> {
  const path = `/orgs/${access.demoOrganizationId}`
  const { items: groups } = await call('GET', `${path}/groups`)
  const { id } = await call('POST', `${path}/groups/${groups[0].id}/jobs`, { kind: 'collect_diagnostics' })
  await until(
    'the jobs have ended',
    async () => (await call('GET', `${path}/job-batches/${id}`)).status === 'finished',
    2 * minute,
  )
}

async function questdb<Result>(folder: string, work: (questdb: QuestdbSql) => Promise<Result>): Promise<Result> {
  const databases = JSON.parse(await readFile(join(folder, 'databases.json'), 'utf8'))
  const sql = openQuestdbSql(databases.QUESTDB_PG_URL, { applicationName: 'test', maxConnections: 1 })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

const isInCheckpoint = () =>
  questdb(dataDir, async (sql) => {
    const [status] = await sql.query<{ in_progress: boolean }>('SELECT in_progress FROM checkpoint_status()')
    return status?.in_progress
  })

test('a backup that is killed is refused by a restore, and the next one releases its checkpoint', {
  timeout: 4 * minute,
}, async () => {
  const folder = join(root, 'killed')
  const child = spawn('node_modules/.bin/node', ['apps/stack/backup.ts', folder, '--data-dir', dataDir], {
    cwd: repository,
    stdio: 'ignore',
  })
  const gone = once(child, 'exit')
  await until('QuestDB is copied', async () => existsSync(join(`${folder}.incomplete`, 'questdb')), minute)
  child.kill('SIGKILL')
  await gone
  expect(await isInCheckpoint()).toBe(true)
  const refused = await command('restore', `${folder}.incomplete`, '--data-dir', join(root, 'from-killed'))
  expect(refused).toEqual({
    code: 1,
    output: `${folder}.incomplete is not a complete backup: it has no manifest.json.\n`,
  })
  const next = await command('backup', join(root, 'after-killed'), '--data-dir', dataDir)
  expect(next.output).toContain('has everything that was accepted before')
  expect(await isInCheckpoint()).toBe(false)
  await rm(join(root, 'after-killed'), { recursive: true })
})

test('a stopped backup releases the checkpoint and leaves nothing', { timeout: 2 * minute }, async () => {
  const folder = join(root, 'stopped')
  const child = spawn('node_modules/.bin/node', ['apps/stack/backup.ts', folder, '--data-dir', dataDir], {
    cwd: repository,
    stdio: 'ignore',
  })
  const gone = once(child, 'exit')
  await until('QuestDB is copied', async () => existsSync(join(`${folder}.incomplete`, 'questdb')), minute)
  child.kill('SIGTERM')
  expect(await gone).toEqual([1, null])
  expect(await isInCheckpoint()).toBe(false)
  expect((await readdir(root)).filter((name) => name.startsWith('stopped'))).toEqual([])
})

test('a backup of a running system, restored into an empty folder, answers the same requests the same way', {
  timeout: 10 * minute,
}, async () => {
  const fleetPid = Number(await readFile(join(dataDir, 'run/demo-fleet'), 'utf8'))
  process.kill(fleetPid, 'SIGCONT')
  await restored?.stop()
  await runJobs(source)
  // Freeze the demo fleet, so that its answers stay the same. The other device reports during the whole backup.
  process.kill(fleetPid, 'SIGSTOP')
  const to = new Date().toISOString()
  const requests = await requestsOf(source, to)
  const answers = await settledAnswers(source, requests)

  const acceptedBefore = [...sent.acceptedAt]
  // A repeated test needs folders of its own.
  const folder = await mkdtemp(join(root, 'restore-'))
  backup = join(folder, 'backup')
  const taken = await command('backup', backup, '--data-dir', dataDir)
  expect(taken).toMatchObject({ code: 0 })
  expect(sent.acceptedAt.length).toBeGreaterThan(acceptedBefore.length)
  expect(await isInCheckpoint()).toBe(false)
  expect(readableByOthers(backup)).toEqual([])
  expect(readableByOthers(dataDir)).toEqual([])
  expect(await command('backup', backup, '--data-dir', dataDir)).toEqual({
    code: 1,
    output: `${backup} exists: choose a folder that does not exist.\n`,
  })

  const target = join(folder, 'restored')
  expect(await command('restore', backup, '--data-dir', target)).toMatchObject({ code: 0 })
  const product = await startProduct(target, { args: ['--no-demo'] })
  restored = product
  expect(readableByOthers(target)).toEqual([])
  expect(product.access.adminKey).toBe(source.access.adminKey)
  // The writers first send the last 15 minutes again, which aligns their samples anew and counts them in coverage again.
  let different = ['not compared']
  const isSame = async () => {
    await questdb(target, refreshCoverage)
    different = differences(answers, await answersOf(product, requests))
    return different.length === 0
  }
  await until('the answers are the same', isSame, 3 * minute).catch(() => undefined)
  expect(different).toEqual([])
  // Keys of callers are valid as well.
  await product.call('GET', '/devices', undefined, source.access.demoKey)

  // Everything that was accepted before the backup is there, including what QuestDB had not stored yet.
  const { call } = product
  const path = `/api/router/${sent.deviceId}/telemetry/history?kind=location&limit=10000`
  const storedTimes = async () => {
    const { items } = await call('GET', path)
    return new Set(items.map(({ ts }: { ts: string }) => Date.parse(ts)))
  }
  await until(
    'all accepted samples are stored',
    async () => {
      const stored = await storedTimes()
      return acceptedBefore.every((ts) => stored.has(Date.parse(ts)))
    },
    minute,
  )
  // Devices keep their tokens and go on.
  const ts = new Date().toISOString()
  const sample = { kind: 'location', ts, lat: 52, lon: -8, fix: '3d', accuracyM: 4 }
  await call('POST', '/telemetry', { samples: [sample] }, sent.token)
  await until('a new sample is stored', async () => (await storedTimes()).has(Date.parse(ts)), minute)

  expect(await command('restore', backup, '--data-dir', target)).toEqual({
    code: 1,
    output: `${target} is not empty: restore into an empty folder.\n`,
  })
})

test('a damaged backup is refused, and nothing is restored', { timeout: minute }, async () => {
  const folder = await mkdtemp(join(root, 'damaged-'))
  const damaged = join(folder, 'backup')
  await cp(backup, damaged, { recursive: true })
  const name = 'postgres/organization.copy'
  await writeFile(join(damaged, name), `${await readFile(join(damaged, name), 'utf8')}x`)
  const target = join(folder, 'restored')
  expect(await command('restore', damaged, '--data-dir', target)).toMatchObject({
    code: 1,
    output: expect.stringContaining(`${damaged} is damaged: ${name} was changed.`),
  })
  expect(existsSync(target)).toBe(false)
  expect(existsSync(`${target}.restoring`)).toBe(false)
})

test('a backup of a folder in which nothing runs says what to do', async () => {
  const empty = join(root, 'empty')
  await mkdir(empty)
  const { code, output } = await command('backup', join(root, 'none'), '--data-dir', empty)
  expect(code).toBe(1)
  expect(output).toMatch(/^Routerfleet does not run in .*\/empty: start it, choose its folder with --data-dir, or copy/)
})
