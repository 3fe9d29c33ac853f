import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { newOrganization, newReportingDevices } from '../test/support/reporting-device.ts'
import { stopChild } from './processes.ts'
import { type BenchStack, startIngestProcess } from './stack.ts'
import type { SteadyLoadOrder } from './steady-load-worker.ts'

export const samplesPerReport = 100
/** RF and a fix each second: what a report of a hundred samples covers. */
export const secondsPerReport = 50

/** Devices that report what they measured in the last 50 seconds, each once in that time, to a real ingest process. */
export type IngestLoad = {
  ingest: { port: number; pid: number }
  /** Reports that were not accepted so far. */
  refused(): number
  stop(): Promise<void>
}

/** Starts ingest and keeps it busy with so many samples a second. */
export async function startIngestLoad(stack: BenchStack, samplesPerSecond: number): Promise<IngestLoad> {
  const reportsPerSecond = samplesPerSecond / samplesPerReport
  const organizationId = await newOrganization(stack.pool)
  const devices = await newReportingDevices(stack.pool, organizationId, Math.ceil(reportsPerSecond * secondsPerReport))
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
    tokens: devices.map(({ token }) => token),
    reportsPerSecond,
  } satisfies SteadyLoadOrder)
  return {
    ingest,
    refused: () => refused,
    stop: async () => {
      await stopChild(child)
      await ingest.stop()
    },
  }
}
