import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { makeRoster } from '../apps/router-agent/world/roster.ts'
import { newOrganization, newReportingDevices } from '../test/support/reporting-device.ts'
import { createLinkRouter, type LinkRouter, shareWithoutService, type UpdateOutcome } from './link-router.ts'
import { forkApp, stopChild } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type BenchStack, startIngestProcess, withBenchStack } from './stack.ts'
import { percentile } from './statistics.ts'

const imageMb = 80
const stepMs = 1_000
const retryMs = 2_000
/** Of the drive of a vehicle, at least. Where there is always service, any moment is good. */
const leastWithoutService = 0.03
const driveStartMs = Date.UTC(2026, 10, 2, 7)

/**
 * A quick run drives faster than the clock. Then a moment counts some seconds after its report, which is worse, and no stop is long
 * enough for a dwell.
 */
type Pace = { speedUp: number; reportEveryMs: number; driveMinutes: number }
const quickPace: Pace = { speedUp: 6, reportEveryMs: 1_000, driveMinutes: 30 }
const fullPace: Pace = { speedUp: 1, reportEveryMs: 5_000, driveMinutes: 40 }

/** Firmware that waits for good signal, beside firmware that is delivered at once. */
export const goodMoments: Bench = {
  name: 'good-moments',
  about: `A firmware of ${imageMb} MB for simulated vehicles whose link follows their signal, delivered at once and at a good moment, to a router of each way in each vehicle at the same time. The vehicles are those that are without service on at least ${100 * leastWithoutService} % of their drive. A failed download is retried until the update is done.`,
  run: ({ quick, devices = 200, minutes }) => {
    const pace = { ...(quick ? quickPace : fullPace), ...(minutes !== undefined && { driveMinutes: minutes }) }
    return withBenchStack((stack) => withServices(stack, (api, url) => measure(stack, { api, url, devices, pace })))
  },
}

async function withServices(stack: BenchStack, work: (api: ServedApi, url: string) => Promise<Figure[]>) {
  const ingest = await startIngestProcess(stack)
  const worker = forkApp('worker', { ...stack.environment, PORT: '0' })
  const api = await serveApi(stack, ingest.port)
  try {
    return await work(api, `http://127.0.0.1:${ingest.port}`)
  } finally {
    await Promise.all([api.close(), stopChild(worker), ingest.stop()])
  }
}

type Scene = { api: ServedApi; url: string; devices: number; pace: Pace }

/** A way to deliver, with its routers. */
type Side = { name: string; organizationId: string; batchId: string; routers: LinkRouter[] }

async function measure(stack: BenchStack, { api, url, devices, pace }: Scene): Promise<Figure[]> {
  const { speedUp, driveMinutes } = pace
  const specs = makeRoster(devices, 7)
    .filter(({ deviceClass }) => deviceClass === 'vehicle')
    .filter((spec) => shareWithoutService(spec, driveStartMs, driveMinutes) >= leastWithoutService)
  const failed = new Set<string>()
  const newSide = async (name: string, options: object): Promise<Side> => {
    const organizationId = await newOrganization(stack.pool)
    const registered = await newReportingDevices(stack.pool, organizationId, specs.length)
    const routers = specs.map((spec, index) =>
      createLinkRouter(spec, {
        ...{ url, token: registered[index]?.token ?? '', imageBytes: imageMb * 1e6 },
        onFailed: () => failed.add(organizationId),
      }),
    )
    const parameters = { version: '9.9.9', url: 'https://downloads.example.com/image.bin', sha256: 'a'.repeat(64) }
    const body = { kind: 'firmware_update', parameters, deviceIds: registered.map(({ id }) => id), ...options }
    const answer = await api.post(`/orgs/${organizationId}/job-batches`, body)
    return { name, organizationId, batchId: (JSON.parse(answer.bytes.toString()) as { id: string }).id, routers }
  }
  const sides = [
    await newSide('at once', {}),
    await newSide('at good signal', { delivery: { when: 'goodSignal' } }),
    ...(speedUp === 1
      ? [await newSide('at good signal and a stop', { delivery: { when: 'goodSignalAndDwell' } })]
      : []),
  ]
  await drive(
    sides.flatMap((side) => side.routers),
    pace,
    async () => {
      // 409 if an earlier retry has started the job already.
      for (const { organizationId, batchId } of sides.filter((side) => failed.delete(side.organizationId)))
        await api.post(`/orgs/${organizationId}/job-batches/${batchId}/retry`, {})
    },
  )
  return sides.map((side, index) => figureOf(side, index === 0 ? undefined : sides[0]))
}

/** Moves the routers until all updates are done or the drives have ended. */
async function drive(routers: readonly LinkRouter[], pace: Pace, retryFailed: () => Promise<void>): Promise<void> {
  const { speedUp, reportEveryMs, driveMinutes } = pace
  const startMs = performance.now()
  const endMs = startMs + (driveMinutes * 60_000) / speedUp
  let retriedMs = startMs
  for (let step = 0; performance.now() < endMs; step += 1) {
    if (routers.every(({ outcome }) => outcome.doneAtMs !== undefined)) break
    const nowMs = performance.now()
    for (const [index, router] of routers.entries())
      router.moveTo(driveStartMs + (nowMs - startMs) * speedUp, (step + index) % (reportEveryMs / stepMs) === 0)
    if (nowMs - retriedMs >= retryMs) {
      retriedMs = nowMs
      await retryFailed()
    }
    await pause(Math.max(0, stepMs - (performance.now() - nowMs)))
  }
  for (const router of routers) router.stop()
}

const sumOf = (outcomes: readonly UpdateOutcome[], read: (outcome: UpdateOutcome) => number) =>
  outcomes.reduce((sum, outcome) => sum + read(outcome), 0)

function summaryOf({ routers }: Side) {
  const outcomes = routers.map(({ outcome }) => outcome)
  const done = outcomes.filter(({ doneAtMs }) => doneAtMs !== undefined)
  const minutes = done.map(({ doneAtMs = 0 }) => (doneAtMs - driveStartMs) / 60_000)
  return {
    done: done.length,
    attempts: sumOf(outcomes, ({ attempts }) => attempts),
    mbPerUpdate: sumOf(outcomes, ({ bytes }) => bytes) / 1e6 / Math.max(1, done.length),
    minutes,
  }
}

function figureOf(side: Side, reference: Side | undefined): Figure {
  const { done, attempts, mbPerUpdate, minutes } = summaryOf(side)
  const at = (percent: number) => (minutes.length > 0 ? percentile(minutes, percent).toFixed(1) : '–')
  const ratio = reference && `${(mbPerUpdate / summaryOf(reference).mbPerUpdate).toFixed(2)} × the MB`
  return {
    name: side.name,
    value: `${done} of ${side.routers.length} updates in ${attempts} attempts (${((100 * done) / Math.max(1, attempts)).toFixed(0)} % finished), ${mbPerUpdate.toFixed(1)} MB a finished update, done after p50 ${at(50)} and p95 ${at(95)} min of the drive`,
    ...(ratio === undefined ? {} : { ratio }),
  }
}
