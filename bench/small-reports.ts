import { newOrganization, newReportingDevices } from '../test/support/reporting-device.ts'
import { cpuOfMainThread } from './cpu-by-process.ts'
import { untilStored } from './ingest-accept.ts'
import { cpuSecondsOfTree, prepareLoad, startServerProcess } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { httpRequest, minuteSamples } from './samples.ts'
import { type BenchStack, startIngestProcess, withBenchStack } from './stack.ts'
import { median, medianRatio, shown } from './statistics.ts'

const samplesPerReport = 4
/** Each device reports this often in a round, over a connection of its own. */
const reportsOfDevice = 80

/** CPU in microseconds: of the main thread and of all threads for a report, and of QuestDB for a row. */
type Round = { main: number; all: number; questdb: number }

/** What most routers send: four samples at a time. */
export const smallReports: Bench = {
  name: 'small-reports',
  about:
    'Reports of four samples, each router over its own connection: CPU until all are stored, compared with a node:http server that responds with 202.',
  run: ({ quick }) => withBenchStack((stack) => measure(stack, quick)),
}

async function measure(stack: BenchStack, quick: boolean): Promise<Figure[]> {
  const devices = await newReportingDevices(stack.pool, await newOrganization(stack.pool), quick ? 60 : 250)
  const total = devices.length * reportsOfDevice
  const ingest = await startIngestProcess(stack)
  const bare = await startServerProcess('./floor-server.ts', { PARSE: '0' })
  const rounds: { ours: Round[]; bare: Round[] } = { ours: [], bare: [] }
  const startMs = Date.now() - 22 * 3_600_000

  async function play(server: { port: number; pid: number }, round: number, rest: () => Promise<void>): Promise<Round> {
    const requests = Array.from({ length: reportsOfDevice }, (_, report) =>
      devices.map(({ token }, seed) => {
        const tsMs = startMs + (round * reportsOfDevice + report) * 60_000
        return httpRequest('/telemetry', token, JSON.stringify({ samples: minuteSamples(tsMs, seed) }))
      }),
    ).flat()
    const load = await prepareLoad({ requests, connections: devices.length, pipeline: 1, total })
    const cpu = () => ({
      main: cpuOfMainThread(server.pid),
      all: cpuSecondsOfTree(server.pid),
      questdb: cpuSecondsOfTree(stack.pids.questdb),
    })
    const before = cpu()
    await load.send(server.port)
    await rest()
    const after = cpu()
    const microseconds = (part: keyof Round, count: number) => (1e6 * (after[part] - before[part])) / count
    return {
      main: microseconds('main', total),
      all: microseconds('all', total),
      questdb: microseconds('questdb', total * samplesPerReport),
    }
  }

  try {
    for (let round = -1; round < 5; round++) {
      const ours = await play(ingest, round, () => untilStored(ingest.port))
      const floor = await play(bare, round, async () => {})
      // The first round compiles the code.
      if (round < 0) continue
      rounds.ours.push(ours)
      rounds.bare.push(floor)
    }
    return figures(rounds)
  } finally {
    await Promise.all([ingest.stop(), bare.stop()])
  }
}

function figures({ ours, bare }: { ours: Round[]; bare: Round[] }): Figure[] {
  const of = (rounds: Round[], part: keyof Round) => rounds.map((round) => round[part])
  const rows = of(ours, 'all').map((report) => report / samplesPerReport)
  return [
    { name: 'CPU of ingest and writer for a row, µs', value: shown(rows, 1), target: '≤ 20 µs' },
    {
      name: 'CPU of the accepting thread for a report, µs',
      value: shown(of(ours, 'main'), 1),
      ratio: `${medianRatio(of(ours, 'main'), of(bare, 'main')).toFixed(2)} × bare (${median(of(bare, 'main')).toFixed(1)})`,
    },
    { name: 'CPU of QuestDB for a row, µs', value: shown(of(ours, 'questdb'), 1) },
  ]
}
