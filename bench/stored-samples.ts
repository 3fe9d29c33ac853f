import { setTimeout as pause } from 'node:timers/promises'
import { kinds } from '#telemetry/report/fields'
import { backlogSamples } from './million-ingest.ts'
import type { Figure } from './report.ts'
import type { AppProcess, BenchStack } from './stack.ts'

const pollMs = 1_000
const storedWithinMs = 25 * 60_000

/** Waits until the log is empty, and compares what was accepted with what is stored since there were `seeded` samples. */
export async function storedFigures(stack: BenchStack, ingest: AppProcess, seeded = 0): Promise<Figure[]> {
  const startMs = performance.now()
  const waited = await backlogSamples(ingest)
  const accepted = await acceptedSamples(ingest)
  let stored = 0
  while (stored < accepted && performance.now() - startMs < storedWithinMs) {
    await pause(pollMs)
    stored = (await storedSamples(stack)) - seeded
  }
  return [
    { name: 'samples that waited in the log at the end', value: waited.toLocaleString('en') },
    {
      name: 'samples accepted and stored',
      value: `${accepted.toLocaleString('en')} and ${stored.toLocaleString('en')}`,
      target: 'equal',
    },
  ]
}

export async function storedSamples({ questdb }: BenchStack): Promise<number> {
  const counts = await Promise.all(
    kinds.map((kind) => questdb.queryArrays<[string | number]>(`SELECT count() FROM ${kind}`, [])),
  )
  return counts.reduce((sum, [row]) => sum + Number(row?.[0] ?? 0), 0)
}

async function acceptedSamples({ port }: AppProcess): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const found = [...metrics.matchAll(/^telemetry_samples_accepted_total(?:{[^}]*})? (\d+)$/gm)]
  return found.reduce((sum, [, samples]) => sum + Number(samples), 0)
}
