import { setTimeout as pause } from 'node:timers/promises'
import { driveSamples } from './samples.ts'
import { samplesPerReport, secondsPerReport } from './steady-load.ts'

/** As many reports a second whatever their answers take, until the process is ended. */
export type SteadyLoadOrder = { port: number; tokens: string[]; reportsPerSecond: number }

const tickMs = 50

async function run({ port, tokens, reportsPerSecond }: SteadyLoadOrder): Promise<void> {
  const startMs = Date.now()
  for (let sent = 0; ; await pause(tickMs)) {
    for (const due = ((Date.now() - startMs) / 1_000) * reportsPerSecond; sent < due; sent++)
      report(port, tokens[sent % tokens.length] ?? '', sent % tokens.length)
  }
}

function report(port: number, token: string, device: number): void {
  const samples = driveSamples(samplesPerReport, Date.now() - secondsPerReport * 1_000, device)
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
