import { newOrganization, newReportingDevices } from '../test/support/reporting-device.ts'
import { forkAlone, stopChild } from './processes.ts'
import type { SeededFleet } from './seed-telemetry.ts'
import { type AppProcess, type BenchStack, startIngestProcess } from './stack.ts'
import { type SteadyLoadOrder, samplesPerReport, secondsPerReport } from './steady-load-order.ts'

const secondsPerMinute = 60

export type IngestLoad = {
  ingest: AppProcess
  fleet: SeededFleet
  /** The number of reports that were not accepted so far. */
  refused(): number
  /** The same, with the reasons. */
  whyRefused(): string
  /** Sends no more reports, so that ingest can store what it accepted. */
  stopSending(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts an ingest process and sends this number of samples per second. Each device reports the measurements of the last 50
 * seconds once in that time.
 */
export function startIngestLoad(stack: BenchStack, samplesPerSecond: number): Promise<IngestLoad> {
  const reportsPerSecond = samplesPerSecond / samplesPerReport
  return startLoad(stack, Math.ceil(reportsPerSecond * secondsPerReport), reportsPerSecond, 'drive')
}

/** The same with a fleet in which each device reports one sample of each kind per minute. */
export const startMinuteLoad = (stack: BenchStack, devices: number): Promise<IngestLoad> =>
  startLoad(stack, devices, devices / secondsPerMinute, 'minute')

async function startLoad(
  stack: BenchStack,
  devices: number,
  reportsPerSecond: number,
  shape: SteadyLoadOrder['shape'],
): Promise<IngestLoad> {
  const organizationId = await newOrganization(stack.pool)
  const reporting = await newReportingDevices(stack.pool, organizationId, devices)
  const ingest = await startIngestProcess(stack)
  const tokens = reporting.map(({ token }) => token)
  const load = sendReports({ port: ingest.port, tokens, reportsPerSecond, shape })
  return {
    ingest,
    fleet: { organizationId, deviceIds: reporting.map(({ id }) => id) },
    refused: load.refused,
    whyRefused: load.whyRefused,
    stopSending: load.stop,
    stop: async () => {
      await load.stop()
      await ingest.stop()
    },
  }
}

export type ReportLoad = {
  /** The number of reports that were not accepted so far. */
  refused(): number
  /** The same, with the reasons. */
  whyRefused(): string
  stop(): Promise<void>
}

/** Sends reports from a separate process until it is stopped. */
export function sendReports(order: SteadyLoadOrder): ReportLoad {
  const child = forkAlone(new URL('./steady-load-worker.ts', import.meta.url), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const refused = new Map<string, number>()
  child.on('message', ({ why }: { why: string }) => {
    refused.set(why, (refused.get(why) ?? 0) + 1)
  })
  child.send(order)
  const total = () => [...refused.values()].reduce((sum, count) => sum + count, 0)
  return {
    refused: total,
    whyRefused: () =>
      [`${total()}`, ...[...refused].map(([why, count]) => `${count.toLocaleString('en')} ${why}`)].join('; '),
    stop: () => stopChild(child),
  }
}
