import { setTimeout as pause } from 'node:timers/promises'
import { driveSamples, minuteSamples } from './samples.ts'
import { samplesPerReport, secondsPerReport } from './steady-load.ts'

/** As many reports a second whatever their answers take, until the process is ended. */
export type SteadyLoadOrder = {
  port: number
  tokens: string[]
  reportsPerSecond: number
  shape: 'drive' | 'minute'
}

const tickMs = 50

async function run({ port, tokens, reportsPerSecond, shape }: SteadyLoadOrder): Promise<void> {
  const samplesOf = shape === 'drive' ? driven : everyMinute
  const startMs = Date.now()
  for (let sent = 0; ; await pause(tickMs)) {
    for (const due = ((Date.now() - startMs) / 1_000) * reportsPerSecond; sent < due; sent++)
      report(port, tokens[sent % tokens.length] ?? '', samplesOf(sent % tokens.length))
  }
}

const driven = (device: number) => driveSamples(samplesPerReport, Date.now() - secondsPerReport * 1_000, device)
const everyMinute = (device: number) => minuteSamples(Date.now(), device)

function report(port: number, token: string, samples: Record<string, unknown>[]): void {
  fetch(`http://127.0.0.1:${port}/telemetry`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ samples }),
  }).then(
    async (answer) => {
      await answer.text()
      if (answer.status !== 202) process.send?.({ refused: answer.status })
    },
    () => process.send?.({ refused: 0 }),
  )
}

process.on('message', (order: SteadyLoadOrder) => void run(order))
process.on('disconnect', () => process.exit(0))
