import { setTimeout as pause } from 'node:timers/promises'
import { applyLoad, cpuSecondsOfTree, startServerProcess } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { driveSamples, httpRequest } from './samples.ts'
import { serveApi } from './served-api.ts'
import { type BenchStack, seedDevices, startIngestProcess, withBenchStack } from './stack.ts'
import { medianRatio, shown } from './statistics.ts'

type Contender = {
  name: string
  port: number
  pid: number
  /** For servers of others: refused requests are not counted and do not fail the run. */
  mayRefuse?: boolean
  /** Resolves when all accepted work is done, so that it does not affect the next contender. */
  rest?: () => Promise<void>
}
type Round = { perSecond: number; perCpuSecond: number }

const deviceCount = 50

const texts = (names: string) => names.split(' ').map((name) => `${name} VARCHAR`)
const numbers = (names: string) => names.split(' ').map((name) => `${name} DOUBLE`)
const naiveTables: [name: string, columns: string[]][] = [
  [
    'naive_cellular',
    [...texts('rat plmn operatorName band cellId tac'), ...numbers('arfcn pci rssiDbm rsrpDbm rsrqDb sinrDb')],
  ],
  ['naive_location', [...texts('fix'), ...numbers('lat lon accuracyM satellites altitudeM speedMps headingDeg')]],
]
const naiveTableSql = (table: string, columns: readonly string[]) =>
  `CREATE TABLE ${table} (device_id SYMBOL, ${columns.join(', ')}, timestamp TIMESTAMP)
   TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, device_id)`

/**
 * Sends requests to the contenders in alternating rounds, after one warm-up round. Returns samples per second of wall time and
 * per second of server CPU.
 */
async function race(
  contenders: readonly Contender[],
  devices: readonly { token: string }[],
  shape: { samplesPerRequest: number; requests: number; rounds: number },
): Promise<Map<string, Round[]>> {
  const results = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]))
  const startMs = Date.now() - 3_600_000
  for (let round = -1; round < shape.rounds; round++) {
    // Each round uses new timestamps, so that its rows do not replace earlier ones.
    const requests = devices.map(({ token }, seed) =>
      httpRequest(
        '/telemetry',
        token,
        JSON.stringify({ samples: driveSamples(shape.samplesPerRequest, startMs + round * 120_000, seed) }),
      ),
    )
    for (const { name, port, pid, mayRefuse, rest } of contenders) {
      const cpuBefore = cpuSecondsOfTree(pid)
      const order = { port, requests, connections: 16, pipeline: 8, total: shape.requests }
      const { accepted, seconds } = await applyLoad(order, { mayRefuse })
      const samples = accepted * shape.samplesPerRequest
      const cpu = cpuSecondsOfTree(pid) - cpuBefore
      if (round >= 0) results.get(name)?.push({ perSecond: samples / seconds, perCpuSecond: samples / cpu })
      await rest?.()
    }
  }
  return results
}

/** Accepting telemetry durably, compared with a server that only parses and with a straightforward implementation. */
export const ingestAccept: Bench = {
  name: 'ingest-accept',
  about:
    'POST /telemetry until its 202 after fsync, on one process with its writer, compared with node:http + JSON.parse of the same bodies and with Hono + zod + the client library.',
  run: ({ quick }) => withBenchStack((stack) => measure(stack, quick)),
}

async function measure(stack: BenchStack, quick: boolean): Promise<Figure[]> {
  const { QUESTDB_URL = '', QUESTDB_USER, QUESTDB_PASSWORD } = stack.environment
  const devices = await seedDevices(stack, deviceCount)
  for (const [table, columns] of naiveTables) await stack.questdb.query(naiveTableSql(table, columns))
  const servers = await Promise.all([
    startServerProcess('./floor-server.ts', { PARSE: '1' }),
    startServerProcess('./floor-server.ts', { PARSE: '0' }),
    startServerProcess('./naive-server.ts', {
      SENDER_CONFIG: `http::addr=${new URL(QUESTDB_URL).host};username=${QUESTDB_USER};password=${QUESTDB_PASSWORD};protocol_version=2;auto_flush=off;request_timeout=60000`,
    }),
  ])
  const ingest = await startIngestProcess(stack)
  const front = await serveApi(stack, ingest.port)
  try {
    const [floor, bare, naive] = servers
    const many = { samplesPerRequest: 100, requests: quick ? 600 : 2_000, rounds: 5 }
    const one = { samplesPerRequest: 1, requests: quick ? 3_000 : 20_000, rounds: 5 }
    const rest = () => untilStored(ingest.port)
    const contender = { name: 'ingest', ...ingest, rest }
    const peers = [
      { name: 'floor', ...floor },
      { name: 'naive', ...naive, mayRefuse: true },
    ]
    const batches = await race([contender, ...peers], devices, many)
    const throughFront = { name: 'front', port: front.port, pid: front.pid, rest }
    const singles = await race([contender, { name: 'bare', ...bare }, throughFront], devices, one)
    return [...batchFigures(batches), ...singleFigures(singles)]
  } finally {
    await front.close()
    await Promise.all([...servers, ingest].map((server) => server.stop()))
  }
}

/** Waits until the writer has stored all accepted samples. */
export async function untilStored(port: number): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    if (/^telemetry_backlog_samples(?:{[^}]*})? 0$/m.test(metrics)) return
    await pause(50)
  }
}

const speeds = (rounds: Map<string, Round[]>, name: string) => (rounds.get(name) ?? []).map((round) => round.perSecond)
const ratio = (rounds: Map<string, Round[]>, above: string, below: string) =>
  medianRatio(speeds(rounds, above), speeds(rounds, below))

function batchFigures(rounds: Map<string, Round[]>): Figure[] {
  return [
    {
      name: '100 samples per request, durable, samples/s',
      value: shown(speeds(rounds, 'ingest')),
      ratio: `${ratio(rounds, 'ingest', 'floor').toFixed(2)} × floor, ${ratio(rounds, 'ingest', 'naive').toFixed(1)} × naive`,
      target: '≥ 0.6 × floor, ≥ 5 × naive',
    },
    { name: 'floor: node:http + JSON.parse', value: shown(speeds(rounds, 'floor')) },
    { name: 'naive: Hono + zod + client Sender', value: shown(speeds(rounds, 'naive')) },
    {
      name: 'samples per CPU second of ingest, including the writer',
      value: shown((rounds.get('ingest') ?? []).map((round) => round.perCpuSecond)),
    },
  ]
}

function singleFigures(rounds: Map<string, Round[]>): Figure[] {
  return [
    {
      name: '1 sample per request, durable, requests/s',
      value: shown(speeds(rounds, 'ingest')),
      ratio: `${ratio(rounds, 'ingest', 'bare').toFixed(2)} × bare`,
      target: '≥ 0.5 × bare',
    },
    { name: 'bare: node:http that responds with 202', value: shown(speeds(rounds, 'bare')) },
    {
      name: 'same requests through the control plane, requests/s',
      value: shown(speeds(rounds, 'front')),
      ratio: `${ratio(rounds, 'front', 'ingest').toFixed(2)} × straight to ingest`,
    },
    {
      name: 'forwarded requests per CPU second of the control plane',
      value: shown((rounds.get('front') ?? []).map((round) => round.perCpuSecond)),
    },
  ]
}
