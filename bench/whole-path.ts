import { setTimeout as pause } from 'node:timers/promises'
import { Secret } from '#core/secret'
import { openIlpTransport } from '#questdb/server/ilp-transport'
import { decodeBatch } from '#telemetry/report/accept'
import { cleanSample } from '#telemetry/report/clean'
import type { Kind } from '#telemetry/report/fields'
import { createRowEncoder, type RowEncoder } from '#telemetry/rows/ilp'
import { tables } from '#telemetry/rows/tables'
import { applyLoad, cpuSecondsOfTree } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { driveSamples, httpRequest } from './samples.ts'
import { type BenchStack, seedDevices, startIngestProcess, withBenchStack } from './stack.ts'
import { medianRatio, shown } from './statistics.ts'

const deviceCount = 100
const samplesPerRequest = 100
const maxBlockBytes = 4 * 1024 * 1024
const kinds = ['cellular', 'location'] as const satisfies Kind[]

type Report = { deviceId: string; token: string; body: string }
type Round = {
  rowsPerSecond: number
  rowsPerCpuSecond: number
  ingestMicroseconds: number
  questdbMicroseconds: number
}
type Rounds = { ours: Round[]; bare: Round[] }

const noReport = () => {}

/** Returns the reports of a device in one round: consecutive parts of a drive with distinct times. */
function reportsOf(devices: readonly { id: string; token: string }[], batches: number, startMs: number): Report[] {
  return Array.from({ length: batches }, (_, batch) =>
    devices.map(({ id, token }, seed) => ({
      deviceId: id,
      token,
      body: JSON.stringify({
        samples: driveSamples(samplesPerRequest, startMs + (batch * samplesPerRequest * 1_000) / 2, seed),
      }),
    })),
  ).flat()
}

/** Returns the number of rows per device that a query returns. */
async function visibleRows(stack: BenchStack): Promise<number> {
  let sum = 0
  for (const kind of kinds) {
    const [row] = await stack.questdb.query<{ rows: number }>(`SELECT count() AS rows FROM ${kind}`)
    sum += Number(row?.rows ?? 0)
  }
  return sum
}

async function untilVisible(stack: BenchStack, rows: number): Promise<void> {
  const giveUpAt = Date.now() + 120_000
  while ((await visibleRows(stack)) < rows) {
    if (Date.now() > giveUpAt) throw new Error(`Only ${await visibleRows(stack)} of ${rows} rows became visible.`)
    await pause(20)
  }
}

/** Returns the rows of reports as blocks of line protocol. This happens before the measurement. */
function encodeBlocks(reports: readonly Report[], organizationId: string): { blocks: Buffer[]; rows: number } {
  const encoders: Record<(typeof kinds)[number], RowEncoder> = {
    cellular: createRowEncoder(tables.cellular),
    location: createRowEncoder(tables.location),
  }
  const blocks: Buffer[] = []
  let rows = 0
  const take = (encoder: RowEncoder) => {
    const { bytes, rowEnds } = encoder.take()
    rows += rowEnds.length
    if (bytes.length > 0) blocks.push(Buffer.from(bytes))
  }
  const receivedAtMs = Date.now()
  for (const { deviceId, body } of reports) {
    const decoded = decodeBatch(Buffer.from(body), 'json', { receivedAtMs, oldestTsMs: 0 })
    if (!decoded.ok) throw new Error(decoded.detail)
    for (const sample of decoded.samples) {
      const kind = sample.kind === 'cellular' ? 'cellular' : 'location'
      encoders[kind].append(cleanSample(sample, noReport), { deviceId, organizationId, receivedAtMs })
      if (encoders[kind].size() >= maxBlockBytes) take(encoders[kind])
    }
  }
  for (const kind of kinds) take(encoders[kind])
  return { blocks, rows }
}

/** From the first byte of a report to rows in a query, compared with sending the same rows directly to QuestDB. */
export const wholePath: Bench = {
  name: 'whole-path',
  about:
    'Reports of 100 samples until queries return all their rows (accepted durably, cleaned, aligned, deduplicated), compared with sending the same encoded rows directly to QuestDB.',
  run: ({ quick }) =>
    withBenchStack(async (stack) => {
      const rounds = await measure(stack, quick)
      return [...speedFigures(rounds), ...cpuFigures(rounds)]
    }),
}

/** The CPU time of a row only, with few rows. */
export const pathCpuFigures = async (stack: BenchStack): Promise<Figure[]> => cpuFigures(await measure(stack, true))

async function measure(stack: BenchStack, quick: boolean): Promise<Rounds> {
  const devices = await seedDevices(stack, deviceCount)
  const peers = devices.map(({ id }) => ({ id: `peer-${id}`, token: '' }))
  const ingest = await startIngestProcess(stack)
  const { QUESTDB_URL = '', QUESTDB_USER = '', QUESTDB_PASSWORD = '' } = stack.environment
  const transport = openIlpTransport({ url: QUESTDB_URL, user: QUESTDB_USER, password: new Secret(QUESTDB_PASSWORD) })
  const cpu = () => ({ ingest: cpuSecondsOfTree(ingest.pid), questdb: cpuSecondsOfTree(stack.pids.questdb) })
  const batches = quick ? 15 : 30
  const ours: Round[] = []
  const bare: Round[] = []

  const timed = async (rounds: Round[], rows: number, work: () => Promise<void>) => {
    const before = { rows: await visibleRows(stack), cpu: cpu(), ms: performance.now() }
    await work()
    await untilVisible(stack, before.rows + rows)
    const seconds = (performance.now() - before.ms) / 1_000
    const after = cpu()
    const [ofIngest, ofQuestdb] = [after.ingest - before.cpu.ingest, after.questdb - before.cpu.questdb]
    rounds.push({
      rowsPerSecond: rows / seconds,
      rowsPerCpuSecond: rows / (ofIngest + ofQuestdb),
      ingestMicroseconds: (1e6 * ofIngest) / rows,
      questdbMicroseconds: (1e6 * ofQuestdb) / rows,
    })
  }
  try {
    for (let round = 0; round < 5; round++) {
      // Live traffic: each round continues the previous one, and all samples are from the last day.
      const startMs = Date.now() - 22 * 3_600_000 + round * 4 * 3_600_000
      const reports = reportsOf(devices, batches, startMs)
      const rows = reports.length * samplesPerRequest
      const requests = reports.map(({ token, body }) => httpRequest('/telemetry', token, body))
      await timed(ours, rows, async () => {
        await applyLoad({ port: ingest.port, requests, connections: 16, pipeline: 4, total: requests.length })
      })
      const encoded = encodeBlocks(reportsOf(peers, batches, startMs), 'bench')
      await timed(bare, encoded.rows, async () => {
        for (const block of encoded.blocks) {
          const outcome = await transport.send(block)
          if (outcome.kind !== 'stored') throw new Error(outcome.detail)
        }
      })
    }
    return { ours, bare }
  } finally {
    await transport.close()
    await ingest.stop()
  }
}

function speedFigures({ ours, bare }: Rounds): Figure[] {
  const speed = (rounds: Round[]) => rounds.map((round) => round.rowsPerSecond)
  return [
    {
      name: 'whole path, rows/s',
      value: shown(speed(ours)),
      ratio: `${medianRatio(speed(ours), speed(bare)).toFixed(2)} × bare QuestDB`,
      target: '≥ 0.5 ×',
    },
    { name: 'bare: encoded rows sent directly to QuestDB, rows/s', value: shown(speed(bare)) },
    {
      name: 'records per CPU second of ingest, writer and QuestDB',
      value: shown(ours.map((round) => round.rowsPerCpuSecond)),
      target: '≥ 130,000',
    },
    {
      name: 'bare: records per CPU second of QuestDB alone',
      value: shown(bare.map((round) => round.rowsPerCpuSecond)),
    },
  ]
}

function cpuFigures({ ours, bare }: Rounds): Figure[] {
  const ofIngest = ours.map((round) => round.ingestMicroseconds)
  const ofQuestdb = bare.map((round) => round.questdbMicroseconds)
  return [
    {
      name: 'CPU of ingest and writer for a row, µs',
      value: shown(ofIngest, 1),
      ratio: `${medianRatio(ofIngest, ofQuestdb).toFixed(2)} × QuestDB`,
      target: '≤ 0.75 ×',
    },
    { name: "bare: QuestDB's own CPU for a row, µs", value: shown(ofQuestdb, 1) },
  ]
}
