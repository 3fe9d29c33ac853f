import { setTimeout as delay } from 'node:timers/promises'
import { issueToken } from '#core/tokens'
import { type Mosquitto, mosquittoMissing, startMosquitto } from '../test/support/mosquitto.ts'
import { type CpuSeconds, cpuByProgram, percentOfCore } from './cpu-by-process.ts'
import type { CrowdOrder, CrowdReport } from './mqtt-crowd.ts'
import { forkAlone } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { type BenchStack, spawnApp, startIngestProcess, withBenchStack } from './stack.ts'
import { percentile } from './statistics.ts'

/** Devices of one gateway through Mosquitto, which is killed twice. Every report that was answered must be one row. */
export const mqttGateway: Bench = {
  name: 'mqtt-gateway',
  about:
    'Devices with one MQTT connection each, one gateway and one ingest process. Each report is a message with one sample; its device sends it as soon as it is connected, and again every 15 s until the service has answered. The broker is killed twice and started again. All processes share the machine.',
  run: async ({ quick, devices, minutes }) => {
    if (mosquittoMissing !== null) return [{ name: 'skipped', value: mosquittoMissing }]
    const count = devices ?? (quick ? 500 : 10_000)
    const seconds = minutes === undefined ? (quick ? 12 : 300) : minutes * 60
    return withBenchStack((stack) => measure(stack, { count, seconds, messagesPerSecond: Math.ceil(count / 5) }))
  },
}

type Size = { count: number; seconds: number; messagesPerSecond: number }

async function measure(stack: BenchStack, { count, seconds, messagesPerSecond }: Size): Promise<Figure[]> {
  const { key, serials } = await seedFleet(stack, count)
  const broker = await startMosquitto()
  const ingest = await startIngestProcess(stack)
  const gateway = await spawnApp(stack, 'gateway', {
    environment: { SERVICE_URL: `http://127.0.0.1:${ingest.port}`, GATEWAY_KEY: key, MQTT_URL: broker.url },
  })
  try {
    await gateway.ready()
    const crowd = startCrowd({ brokerUrl: broker.url, serials, messagesPerSecond, seconds })
    await crowd.connected
    const [startedMs, cpuBefore] = [performance.now(), cpuByProgram(process.pid)]
    await killTwice(broker, seconds)
    const report = await crowd.report
    const elapsedSeconds = (performance.now() - startedMs) / 1_000
    const cpu = new Map(percentOfCore(cpuBefore, cpuByProgram(process.pid), elapsedSeconds))
    const stored = await storedReports(stack, report.answered)
    if (report.answered !== report.sent || stored.reports !== report.sent || stored.rows !== report.sent)
      throw new Error(
        `${report.sent} reports were sent and ${report.answered} answered. ${stored.reports} are stored in ${stored.rows} rows.`,
      )
    return figures({ report, rows: stored.rows, cpu, elapsedSeconds, count, seconds })
  } finally {
    await gateway.stop()
    await ingest.stop()
    await broker.close()
  }
}

const services = new Set(['gateway', 'ingest', 'questdb', 'postgres'])

const shown = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })

function figures(measured: {
  report: CrowdReport
  rows: number
  /** Percent of one core by program. */
  cpu: CpuSeconds
  elapsedSeconds: number
  count: number
  seconds: number
}): Figure[] {
  const { report, rows, cpu, elapsedSeconds, count, seconds } = measured
  const ms = (percent: number) => `${shown(percentile(report.answerMs, percent))} ms`
  const percentOf = (program: string) => `${shown(cpu.get(program) ?? 0)} %`
  const others = [...cpu].reduce((sum, [program, percent]) => sum + (services.has(program) ? 0 : percent), 0)
  const gatewayUs = ((cpu.get('gateway') ?? 0) / 100 / report.sent) * elapsedSeconds * 1e6
  return [
    { name: 'devices', value: shown(count) },
    { name: 'reports a second', value: shown(report.sent / seconds) },
    { name: 'reports sent, all answered', value: shown(report.sent) },
    { name: 'rows stored', value: shown(rows), target: 'reports sent' },
    { name: 'connections of devices, with those after each kill', value: shown(report.connections) },
    { name: 'messages repeated by devices', value: shown(report.repeated) },
    { name: 'sample → answer of the service, p50', value: ms(50) },
    { name: 'sample → answer of the service, p99, with the kills', value: ms(99) },
    { name: 'processor time of the gateway per report', value: `${shown(gatewayUs)} µs` },
    { name: 'of one core: gateway', value: percentOf('gateway') },
    { name: 'of one core: ingest; QuestDB', value: `${percentOf('ingest')}; ${percentOf('questdb')}` },
    // The processor time of a killed broker is counted for the process that started it.
    { name: 'of one core: devices and broker', value: `${shown(others)} %` },
  ]
}

async function killTwice(broker: Mosquitto, seconds: number): Promise<void> {
  for (let kill = 0; kill < 2; kill += 1) {
    await delay((seconds * 1_000) / 3)
    await broker.kill()
    await broker.start()
  }
}

function startCrowd(order: CrowdOrder): { connected: Promise<void>; report: Promise<CrowdReport> } {
  const child = forkAlone(new URL('./mqtt-crowd.ts', import.meta.url), {
    stdio: ['ignore', 2, 'inherit', 'ipc'],
  })
  const { promise: connected, resolve: onConnected, reject: onLost } = Promise.withResolvers<void>()
  const report = new Promise<CrowdReport>((resolve, reject) => {
    child.on('message', (message: 'connected' | CrowdReport) => {
      if (message === 'connected') onConnected()
      else resolve(message)
    })
    child.once('exit', (code) => {
      const error = new Error(`The devices ended with code ${code}.`)
      onLost(error)
      reject(error)
    })
  })
  // Handled where the report is awaited.
  report.catch(() => {})
  child.send(order)
  return { connected, report }
}

async function seedFleet({ pool }: BenchStack, count: number): Promise<{ key: string; serials: string[] }> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO organization (id, name, plan) VALUES (uuidv7(), 'Bench', 'enterprise') RETURNING id`,
  )
  const organizationId = String(rows[0]?.id)
  const { rows: devices } = await pool.query<{ serial: string }>(
    `WITH created AS (
       INSERT INTO device (id, organization_id, serial, name, model)
       SELECT uuidv7(), $1, 'R' || n, 'Router', 'RX' FROM generate_series(1, $2) n RETURNING id, serial
     ), owned AS (
       INSERT INTO device_ownership (device_id, organization_id, owned_from) SELECT id, $1, now() FROM created
     ) SELECT serial FROM created`,
    [organizationId, count],
  )
  const { id, hash, token } = issueToken('fle')
  await pool.query(
    `INSERT INTO enrollment_key (id, organization_id, name, token_hash, auto_create, created_by, allow_gateway)
     VALUES ($1, $2, 'Gateway', $3, false, 'bench', true)`,
    [id, organizationId, hash],
  )
  return { key: token, serials: devices.map(({ serial }) => serial) }
}

const storedWithinMs = 120_000

/**
 * Returns the stored rows and the different reports in them as soon as there are `expected` rows, and a second later, so that
 * doubled rows are seen. Each report has a number of its own, `uptimeS`.
 */
async function storedReports({ questdb }: BenchStack, expected: number): Promise<{ rows: number; reports: number }> {
  const count = async () => {
    const [row] = await questdb.query<{ rows: number; reports: number }>(
      'SELECT count() AS rows, count_distinct(cast(uptime_s AS LONG)) AS reports FROM system',
    )
    return { rows: Number(row?.rows), reports: Number(row?.reports) }
  }
  const giveUpMs = Date.now() + storedWithinMs
  while ((await count()).rows < expected && Date.now() < giveUpMs) await delay(200)
  await delay(1_000)
  return count()
}
