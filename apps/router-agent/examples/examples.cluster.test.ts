import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureAccess } from '#fleet/access/bootstrap'
import { childEnvironment } from '#test/child-environment'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

// The fleet of `npm start` with fewer routers, as a process that is killed.
const program = fileURLToPath(new URL('../fleet.ts', import.meta.url))
const node = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url))
const lists = ['places', 'alert-rules', 'firmware', 'configs', 'groups', 'job-batches']
const longMs = 180_000

let service: WholeService
let folder: string
let environment: Record<string, string>
let running: Fleet | undefined

beforeAll(async () => {
  service = await startWholeService()
  folder = await mkdtemp(join(tmpdir(), 'examples-'))
  const access = await ensureAccess({ pool: service.pool }, { demo: true })
  environment = {
    BASE_URL: service.url,
    STATE_DIR: folder,
    COUNT: '20',
    REPORT_EVERY_MS: '1000',
    API_KEY: access.demoKey ?? '',
    ENROLLMENT_KEY: access.demoEnrollmentKey ?? '',
    ORGANIZATION_ID: access.demoOrganizationId ?? '',
  }
})
afterAll(async () => {
  await running?.end('SIGTERM')
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

type Fleet = { end: (signal: NodeJS.Signals) => Promise<void>; untilLogged: (text: string) => Promise<void> }

function startFleet(settings: Record<string, string> = {}): Fleet {
  const env = { ...childEnvironment, ...environment, ...settings }
  const child: ChildProcess = fork(program, [], { execPath: node, silent: true, env })
  const ended = once(child, 'exit')
  let output = ''
  child.stdout?.on('data', (chunk) => (output += chunk))
  running = {
    async end(signal) {
      child.kill(signal)
      await ended
      running = undefined
    },
    async untilLogged(text) {
      const isLogged = async () => output.includes(text)
      await until(text, isLogged, longMs).catch((cause) => Promise.reject(new Error(output.slice(-2_000), { cause })))
    },
  }
  return running
}

type Item = { id: string; status: string; closeReason: string | null; stages: { status: string }[] }

async function read(path: string): Promise<Item[]> {
  const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${environment.API_KEY}` } })
  if (!answer.ok) throw new Error(`${path} returned ${answer.status}: ${await answer.text()}`)
  return ((await answer.json()) as { items: Item[] }).items
}

const listOf = (list: string) => read(`/orgs/${environment.ORGANIZATION_ID}/${list}?limit=200`)

/** The number of items of each list. */
async function counts(): Promise<Record<string, number>> {
  const pairs = await Promise.all(lists.map(async (list) => [list, (await listOf(list)).length] as const))
  return Object.fromEntries(pairs)
}

test('without examples, the fleet creates groups and one profile only', { timeout: 2 * longMs }, async () => {
  const fleet = startFleet({ EXAMPLES: 'false' })
  await fleet.untilLogged('demo_ready')
  await fleet.end('SIGTERM')
  expect(await counts()).toEqual({
    ...{ places: 0, 'alert-rules': 0, firmware: 0, 'job-batches': 0 },
    ...{ configs: 1, groups: 4 },
  })
  await rm(folder, { recursive: true })
})

test('the fleet fills each list although it is killed, and adds nothing at the next start', {
  timeout: 3 * longMs,
}, async () => {
  const killed = startFleet()
  await until('the first places', async () => (await listOf('places')).length > 0, longMs)
  await killed.end('SIGKILL')

  const fleet = startFleet()
  await fleet.untilLogged('alert of the earlier version')
  const created = await counts()
  for (const list of lists) expect(created[list], list).toBeGreaterThan(0)
  expect(created).toMatchObject({ firmware: 2, configs: 2, 'job-batches': 4, 'alert-rules': 7 })

  const statuses = async () => (await listOf('job-batches')).map(({ status }) => status).sort()
  await until('a rollout ends', async () => (await statuses()).join() === 'finished,finished,finished,running', longMs)
  const [finished] = await listOf('job-batches')
  expect(finished?.stages.map(({ status }) => status)).toEqual(['finished', 'finished'])
  const ended = async () => (await listOf('alerts')).map(({ closeReason }) => closeReason)
  await until('an alert closes', async () => (await ended()).includes('condition_ended'), longMs)
  expect(await ended()).toContain(null)
  const midnightMs = new Date().setHours(0, 0, 0, 0)
  const [from, to] = [new Date(midnightMs - 86_400_000), new Date(midnightMs)].map((time) => time.toISOString())
  await until('trips of yesterday', async () => (await read(`/fleet/trips?from=${from}&to=${to}`)).length > 0, longMs)
  await fleet.end('SIGTERM')

  const again = startFleet()
  await again.untilLogged('alert of the earlier version')
  expect(await counts()).toEqual(created)
})
