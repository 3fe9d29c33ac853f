import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { driveSamples, minuteSamples } from './samples.ts'
import { type SteadyLoadOrder, samplesPerReport, secondsPerReport } from './steady-load-order.ts'

const tickMs = 50
/** Reports that are delayed for this time are skipped and counted as refused. Sending them later would change the load. */
const latestMs = 5_000
let unanswered = 0
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

async function run({ port, tokens, reportsPerSecond, shape }: SteadyLoadOrder): Promise<void> {
  const samplesOf = shape === 'drive' ? driven : everyMinute
  const startMs = Date.now()
  const mostUnanswered = (latestMs / 1_000) * reportsPerSecond
  for (let sent = 0; ; await pause(tickMs)) {
    const due = ((Date.now() - startMs) / 1_000) * reportsPerSecond
    for (; sent < due; sent++) {
      if (unanswered < mostUnanswered && due - sent < mostUnanswered)
        report(port, tokens[sent % tokens.length] ?? '', samplesOf(sent % tokens.length))
      else process.send?.({ refused: 0 })
    }
  }
}

const driven = (device: number) => driveSamples(samplesPerReport, Date.now() - secondsPerReport * 1_000, device)
const everyMinute = (device: number) => minuteSamples(Date.now(), device)

function report(port: number, token: string, samples: Record<string, unknown>[]): void {
  const body = JSON.stringify({ samples })
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  unanswered++
  request({ agent, port, host: '127.0.0.1', method: 'POST', path: '/telemetry', headers }, (answer) => {
    answer.resume()
    if (answer.statusCode !== 202) process.send?.({ refused: answer.statusCode })
  })
    .on('error', () => process.send?.({ refused: 0 }))
    .on('close', () => unanswered--)
    .end(body)
}

process.on('message', (order: SteadyLoadOrder) => void run(order))
process.on('disconnect', () => process.exit(0))
