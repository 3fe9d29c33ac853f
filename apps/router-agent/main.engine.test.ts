import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { accepted, enrolled, type PeerAnswer, startEdgePeer } from '#test/edge-peer'

// Every test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const program = fileURLToPath(new URL('./main.ts', import.meta.url))
const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))

const cleanUp: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step()
})

async function startProgram(
  baseUrl: string,
  { options = [], environment = {} }: { options?: string[]; environment?: Record<string, string> } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'agent-main-'))
  const child = fork(program, ['--base-url', baseUrl, '--state-dir', folder, '--serial', 'S-1', ...options], {
    execPath: node,
    silent: true,
    env: { ...process.env, ENROLLMENT_KEY: 'fle_test', REPORT_EVERY_MS: '200', ...environment },
  })
  const ended = once(child, 'exit')
  cleanUp.push(async () => {
    child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  return { child, ended, folder }
}

async function startPeer(jobs: unknown[] = []) {
  const peer = await startEdgePeer(({ path }): PeerAnswer => {
    if (path === '/device/enroll') return enrolled
    if (path === '/telemetry') return accepted()
    if (path.endsWith('/status')) return { status: 200, body: { status: 'inProgress', cancelRequested: false } }
    const job = jobs.shift()
    return job ? { status: 200, body: job } : { status: 503, headers: { 'retry-after': '1' } }
  })
  cleanUp.push(peer.close)
  return peer
}

const row = (second: number) =>
  `2020.02.13_15.02.${String(second).padStart(2, '0')},-8.39,51.88,36,B,LTE,-93,-15,-3.0,10,-70,9CBA,10805003,-,-`

test('reports a whole drive and ends; only the owner can read the token', async () => {
  const peer = await startPeer()
  const header =
    'Timestamp,Longitude,Latitude,Speed,Operatorname,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ'
  const drive = join(await mkdtemp(join(tmpdir(), 'agent-drive-')), 'drive.csv')
  await writeFile(drive, [header, ...Array.from({ length: 60 }, (_, second) => row(second))].join('\n'))
  const { ended, folder } = await startProgram(peer.baseUrl, { options: ['--drive', drive, '--speed', '60'] })
  expect(await ended).toEqual([0, null])

  const samples = peer.reports().flatMap((report) => report.samples)
  const radio = samples.filter(({ kind }) => kind === 'cellular').map(({ ts }) => Number(ts))
  expect(radio).toHaveLength(60)
  expect(samples.filter(({ kind }) => kind === 'location')).toHaveLength(60)
  expect((radio.at(-1) ?? 0) - (radio[0] ?? 0)).toBe(59_000)
  expect(Math.abs((radio.at(-1) ?? 0) - Date.now())).toBeLessThan(45_000)
  expect(JSON.parse(await readFile(join(folder, 'state.json'), 'utf8')).token).toBe('fld_test')
})

test('a reboot job restarts the process, which reports the job and the reason of the restart', async () => {
  const job = { id: 'a', kind: 'reboot', attempt: 1, parameters: {}, cancelRequested: false }
  const peer = await startPeer([job])
  await startProgram(peer.baseUrl)
  const final = () => peer.received.filter(({ path, body }) => path.endsWith('/status') && body.includes('succeeded'))
  await vi.waitFor(() => expect(final()).toHaveLength(1), { timeout: 60_000 })
  // A report whose answer the restart cut off is sent once more: by time, it is the same sample.
  const firstOfBoots = () => {
    const samples = peer.reports().flatMap((report) => report.samples)
    const system = samples.filter(({ kind, uptimeS }) => kind === 'system' && Number(uptimeS) <= 1)
    return [...new Map(system.map(({ ts, rebootReason }) => [ts, rebootReason])).values()]
  }
  await vi.waitFor(() => expect(firstOfBoots()).toEqual([undefined, 'job']), { timeout: 60_000 })
})

test('ends when its parent closes the channel', async () => {
  const peer = await startPeer()
  const { child, ended } = await startProgram(peer.baseUrl)
  await vi.waitFor(() => expect(peer.reports().length).toBeGreaterThan(0), { timeout: 60_000 })
  child.disconnect()
  expect((await ended)[0]).toBe(0)
})

async function refusal(baseUrl: string, options: string[], environment: Record<string, string> = {}) {
  const { child, ended } = await startProgram(baseUrl, { options, environment })
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  expect(await ended).toEqual([2, null])
  expect(said.trim().split('\n')).toHaveLength(1)
  return said
}

test('an invalid option prints one sentence and exits with 2', async () => {
  expect(await refusal('not an address', [])).toMatch(/BASE_URL/)
})

test('a missing token or a missing drive prints one sentence and exits with 2', async () => {
  const { baseUrl } = await startPeer()
  expect(await refusal(baseUrl, [], { ENROLLMENT_KEY: '' })).toMatch(/ENROLLMENT_KEY/)
  expect(await refusal(baseUrl, ['--drive', '/nowhere/drive.csv'])).toMatch(/Cannot read the drive/)
})
