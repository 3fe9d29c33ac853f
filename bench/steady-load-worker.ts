import { setTimeout as pause } from 'node:timers/promises'
import { place } from './places.ts'
import { createReportSender } from './report-sender.ts'
import { driveSamples, minuteSamples } from './samples.ts'
import { type SteadyLoadOrder, samplesPerReport, secondsPerReport } from './steady-load-order.ts'

const tickMs = 50
/** Reports that are delayed for this time are skipped and counted as refused. Sending them later would change the load. */
const latestMs = 5_000
/** The service closes a connection with 16 requests that have no response. With this number, that takes five seconds. */
const connections = 1_024

async function run({ port, tokens, reportsPerSecond, shape }: SteadyLoadOrder): Promise<void> {
  const samplesOf = samples[shape]
  const { send, unanswered } = createReportSender({ port, connections }, (status) =>
    missed(status === 0 ? 'connection lost' : `status ${status}`),
  )
  const startMs = Date.now()
  const mostUnanswered = (latestMs / 1_000) * reportsPerSecond
  for (let sent = 0; ; await pause(tickMs)) {
    const due = ((Date.now() - startMs) / 1_000) * reportsPerSecond
    for (; sent < due; sent++) {
      const device = turnOf(sent, tokens.length)
      if (unanswered() < mostUnanswered && due - sent < mostUnanswered)
        send(tokens[device] ?? '', JSON.stringify({ samples: samplesOf(device) }))
      else missed('not sent because 5 s of reports had no response')
    }
  }
}

/** A prime: each device has its turn once in a round, unless their number is a multiple of it. */
const stride = 7_919

/**
 * Returns the device that sends this report. Devices do not report in the order of registration: neighbours share a page of
 * Postgres, and a transaction that changes all devices of a page finds no room in it, so it writes them to another page and to all
 * indexes.
 */
const turnOf = (report: number, devices: number): number => (report * stride) % devices

const missed = (why: string) => process.send?.({ why })

const samples: Record<SteadyLoadOrder['shape'], (device: number) => Record<string, unknown>[]> = {
  drive: (device) => driveSamples(samplesPerReport, Date.now() - secondsPerReport * 1_000, device),
  minute: (device) => minuteSamples(Date.now(), device),
  spread: (device) => minuteSamples(Date.now(), device, place(device)),
}

process.on('message', (order: SteadyLoadOrder) => void run(order))
process.on('disconnect', () => process.exit(0))
