import { setTimeout as pause } from 'node:timers/promises'
import { freshnessMs, shownWaits } from './freshness.ts'
import { stopChild } from './processes.ts'
import type { Figure } from './report.ts'
import { type AppProcess, type BenchStack, spawnApp } from './stack.ts'
import type { ReportLoad } from './steady-load.ts'

const pollMs = 250
const restartLimitMs = 240_000
/** A backlog of at most this many seconds of reports is flat. */
const flatS = 5

/** Waits until the backlog is flat, at most `limitS` seconds. */
export async function untilFlat(
  ingest: AppProcess,
  { samplesPerSecond, limitS }: { samplesPerSecond: number; limitS: number },
): Promise<void> {
  const endMs = performance.now() + limitS * 1_000
  while (performance.now() < endMs && (await backlogSamples(ingest)) > flatS * samplesPerSecond) await pause(pollMs)
}

/** How long reports wait until queries return them, and whether the log grows meanwhile. */
export async function steadyFigures(
  stack: BenchStack,
  ingest: AppProcess,
  { samplesPerSecond, forMs, load }: { samplesPerSecond: number; forMs: number; load: ReportLoad },
): Promise<Figure[]> {
  const [backlogBefore, refusedBefore] = [await backlogSamples(ingest), load.refused()]
  const waitsMs = await freshnessMs(stack, ingest.port, forMs)
  const backlogAfter = await backlogSamples(ingest)
  const of = `${Math.round(samplesPerSecond).toLocaleString('en')} samples/s`
  return [
    { name: `${of}: accepted until queryable`, value: shownWaits(waitsMs), target: 'p99 < 5,000 ms' },
    {
      name: `${of}: samples that wait in the log, before and after`,
      value: `${backlogBefore.toLocaleString('en')} and ${backlogAfter.toLocaleString('en')}`,
      target: `flat, < ${Math.round(flatS * samplesPerSecond).toLocaleString('en')}`,
    },
    {
      name: `${of}: reports not accepted`,
      value: `${load.refused() - refusedBefore}; since the start ${load.whyRefused()}`,
    },
  ]
}

/** Kills ingest and starts it again on its port, while routers continue to report. Returns the new process. */
export async function restartFigures(
  stack: BenchStack,
  ingest: AppProcess,
  samplesPerSecond: number,
): Promise<{ figures: Figure[]; ingest: AppProcess }> {
  const killedMs = performance.now()
  ingest.child.kill('SIGKILL')
  await stopChild(ingest.child)
  const next = await spawnApp(stack, 'ingest', { port: ingest.port })
  try {
    return { ingest: next, figures: await recoveryFigures(stack, next, { killedMs, samplesPerSecond }) }
  } catch (error) {
    await next.stop()
    throw error
  }
}

async function recoveryFigures(
  stack: BenchStack,
  next: AppProcess,
  { killedMs, samplesPerSecond }: { killedMs: number; samplesPerSecond: number },
): Promise<Figure[]> {
  const since = () => performance.now() - killedMs
  await next.ready()
  const [acceptsMs, startedAtMs] = [since(), Date.now()]
  await untilFresh(stack, startedAtMs)
  const firstMs = since()
  // From then on, every report of the restart is queryable, too.
  await untilFlat(next, { samplesPerSecond, limitS: (restartLimitMs - since()) / 1_000 })
  const left = await backlogSamples(next)
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const flat =
    left > flatS * samplesPerSecond
      ? `not after ${seconds(since())}: ${left.toLocaleString('en')} samples`
      : seconds(since())
  const name = 'restart of ingest after kill −9'
  return [
    { name: `${name}: accepts reports`, value: seconds(acceptsMs) },
    { name: `${name}: first fresh report queryable`, value: seconds(firstMs), target: '< 60 s' },
    { name: `${name}: no backlog`, value: flat, target: '< 60 s' },
  ]
}

async function untilFresh({ questdb }: BenchStack, fromMs: number): Promise<void> {
  const giveUpAtMs = performance.now() + restartLimitMs
  const text = 'SELECT ts FROM cellular WHERE received_at >= $1 AND ts >= $1 LIMIT 1'
  while ((await questdb.query(text, [new Date(fromMs).toISOString()])).length === 0) {
    if (performance.now() > giveUpAtMs) throw new Error('No fresh report became queryable.')
    await pause(pollMs)
  }
}

export async function backlogSamples({ port }: AppProcess): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const found = [...metrics.matchAll(/^telemetry_backlog_samples(?:{[^}]*})? (\d+)$/gm)]
  return found.reduce((sum, [, samples]) => sum + Number(samples), 0)
}
