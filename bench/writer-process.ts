import type { QuestdbSql } from '#questdb/server/sql'
import type { LoggedBatch } from '#telemetry-log/log'
import { createPipeline } from '#telemetry-writer/pipeline'
import { createCleaningCounts } from '#telemetry-writer/reports/cleaning-counts'
import { decodeHere } from '#telemetry-writer/reports/decode-report'
import { createActivity } from '#telemetry-writer/store/activity'
import { reportsOf, type Workload, workloads } from './writer-traffic.ts'

// Runs the pipeline of the writer on a workload of its own, and prints its CPU. The monotonic clock is that of the reports.
const workload = workloads[process.argv[2] ?? '']
if (!workload) throw new Error(`Unknown workload ${process.argv[2]}`)

const startMs = Date.now() - 24 * 3_600_000
const intervals = reportsOf(workload, startMs)
const readAtOnceMs = 1_000
let waiting: LoggedBatch[] = []
let interval = -1
let position = 0
let clockMs = startMs
let measuredFrom: { cpu: NodeJS.CpuUsage; rows: number } | undefined
let measuredSamples = 0
let rowsSent = 0
performance.now = () => clockMs - startMs

/** Makes reports outside of the measurement: the CPU of making them is taken off. */
function nextInterval(): boolean {
  const before = process.cpuUsage()
  const { value, done } = intervals.next()
  interval += 1
  waiting = value ?? []
  if (interval === workload?.warmUp) measuredFrom = { cpu: process.cpuUsage(), rows: rowsSent }
  else if (measuredFrom) {
    const { user, system } = process.cpuUsage(before)
    measuredFrom.cpu = { user: measuredFrom.cpu.user + user, system: measuredFrom.cpu.system + system }
  }
  return !done
}

const questdb: QuestdbSql = { query: async () => [], queryArrays: async () => [], end: async () => {} }
const none = { read: () => [], isLoading: () => false, position: () => 0, seek() {}, close() {} }
const fail = (error: unknown): never => {
  throw error
}
const pipeline = createPipeline({
  reader: {
    ...none,
    position: () => position,
    read() {
      if (waiting.length === 0 && !nextInterval()) pipeline.stop()
      const untilMs = (waiting[0]?.receivedAtMs ?? 0) + readAtOnceMs
      const later = waiting.findIndex(({ receivedAtMs }) => receivedAtMs >= untilMs)
      const batches = waiting.splice(0, later === -1 ? waiting.length : later)
      const last = batches.at(-1)
      if (!last) return []
      position = last.nextPosition
      clockMs = last.receivedAtMs
      if (measuredFrom) measuredSamples += batches.reduce((sum, { sampleCount }) => sum + sampleCount, 0)
      return batches
    },
  },
  ahead: none,
  earlier: none,
  decode: decodeHere,
  tail: { position: () => position, waitingBytes: () => 0, waitBeyond: async () => {}, wake() {} },
  questdb,
  store: {
    async store({ fates }) {
      rowsSent += fates.length
      return { stored: fates.length, replaced: 0, deadLettered: 0 }
    },
  },
  cleaning: createCleaningCounts(),
  activity: createActivity(),
  checkpoint: { position: 0, counts: { stored: 0, replaced: 0, deadLettered: 0 }, atMs: startMs, history: [] },
  onStored() {},
  onFailure: { report: fail, device: fail },
})
await pipeline.run()
const { user, system } = process.cpuUsage(measuredFrom?.cpu)
const cpuUs = (user + system) / measuredSamples
process.stdout.write(
  JSON.stringify({ cpuUs, parseUs: parseUs(workload), rows: (rowsSent - (measuredFrom?.rows ?? 0)) / measuredSamples }),
)

/** CPU of `JSON.parse` for a sample of the same reports, as the reference of a machine. */
function parseUs(of: Workload): number {
  const [reports = []] = reportsOf({ ...of, reports: 1 }, startMs)
  let samples = 0
  const before = process.cpuUsage()
  while (samples < 200_000) {
    for (const { body } of reports) samples += JSON.parse(body.toString()).samples.length
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / samples
}
