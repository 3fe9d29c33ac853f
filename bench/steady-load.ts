import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { newOrganization, newReportingDevices } from '../test/support/reporting-device.ts'
import { stopChild } from './processes.ts'
import type { SeededFleet } from './seed-telemetry.ts'
import { type BenchStack, startIngestProcess } from './stack.ts'
import type { SteadyLoadOrder } from './steady-load-worker.ts'

export const samplesPerReport = 100
/** RF and a fix each second: what a report of a hundred samples covers. */
export const secondsPerReport = 50
const secondsPerMinute = 60

export type IngestLoad = {
  ingest: { port: number; pid: number }
  fleet: SeededFleet
  /** Reports that were not accepted so far. */
  refused(): number
  stop(): Promise<void>
}

/**
 * Starts a real ingest process and keeps it busy with so many samples a second, of devices that report what they measured
 * in the last 50 seconds, each once in that time.
 */
export function startIngestLoad(stack: BenchStack, samplesPerSecond: number): Promise<IngestLoad> {
  const reportsPerSecond = samplesPerSecond / samplesPerReport
  return startLoad(stack, Math.ceil(reportsPerSecond * secondsPerReport), reportsPerSecond, 'drive')
}

/** The same with a fleet of which each device reports one sample of each kind a minute. */
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
  const child = fork(fileURLToPath(new URL('./steady-load-worker.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  let refused = 0
  child.on('message', () => {
    refused++
  })
  child.send({
    port: ingest.port,
    tokens: reporting.map(({ token }) => token),
    reportsPerSecond,
    shape,
  } satisfies SteadyLoadOrder)
  return {
    ingest,
    fleet: { organizationId, deviceIds: reporting.map(({ id }) => id) },
    refused: () => refused,
    stop: async () => {
      await stopChild(child)
      await ingest.stop()
    },
  }
}
