import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Agent as ConnectionPool } from 'undici'
import { systemClock } from '#core/clock'
import { errorText } from '#core/error-text'
import { pause as pauseFor } from '#core/schedule'
import { createBackoff } from './backoff.ts'
import { createServiceCaller, SetupRefused } from './call-service.ts'
import { readFleetConfig } from './config.ts'
import { createEdgeClient } from './edge-client.ts'
import { startImageServer } from './examples/image-server.ts'
import { exampleImages } from './examples/images.ts'
import { setUpExamples } from './examples/set-up-examples.ts'
import { openSteps } from './examples/steps.ts'
import { runFleetRouter } from './fleet-router.ts'
import { setUpDemo } from './fleet-setup.ts'
import { createLog } from './log.ts'
import { makeRoster, type RouterSpec } from './world/roster.ts'
import type { Shift } from './world/simulated-router.ts'

// The token, the config with its secrets and the positions are only for the user of the agent.
process.umask(0o077)

// The demo fleet: many simulated routers in one process, each with the agent of agent.ts.
const startEveryMs = 80
const saveEveryMs = 30_000
/** How much longer a long history is: ten hours by default. More would delay what the routers report at the first start. */
const longHistory = 5
const hourMs = 3_600_000
/** The shift of yesterday, in local time. */
const shiftHours = { from: 6, to: 12 }
/** The routers start first. */
const examplesAfterMs = 10_000

// Early garbage collection of old objects: less memory for many routers, at no measurable cost.
setFlagsFromString('--optimize-for-size')

const config = readFleetConfig(process.argv.slice(2))
const folder = config.STATE_DIR ?? '.fleet'
const log = createLog('fleet')
const pool = new ConnectionPool({ connections: 16, keepAliveTimeout: 60_000 })
const specs = makeRoster(config.COUNT, config.SEED)
const stopping = new AbortController()
const { signal } = stopping
const pause = (ms: number) => pauseFor(ms, signal)

for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort())
process.once('disconnect', () => stopping.abort())

await mkdir(folder, { recursive: true, mode: 0o700 })
const progressFile = join(folder, 'fleet.json')
const startedAtMs = systemClock()
const sampledUntilMs = await sampledUntil()
const historyFromMs = (spec: RouterSpec) => {
  const minutes = config.HISTORY_MINUTES * (spec.hasLongHistory ? longHistory : 1)
  return Math.max(startedAtMs - minutes * 60_000, sampledUntilMs)
}
// The first start has no progress: only then do the routers report what they did on the day before.
const shift = sampledUntilMs === 0 && config.EXAMPLES ? shiftOfYesterday(startedAtMs) : undefined
const images = await startImageServer(exampleImages)
const organizationId = config.API_KEY === undefined ? undefined : await prepare(config.API_KEY)

const routers = specs.map(async (spec, index) => {
  // One after the other: two hours of 200 routers at once would be an unrealistic burst.
  await pause(index * startEveryMs)
  const routerLog = createLog(spec.serial)
  try {
    await runFleetRouter({
      spec,
      folder,
      connect: (stop) =>
        createEdgeClient({
          baseUrl: config.BASE_URL,
          localEdgeUrl: config.LOCAL_EDGE_URL,
          dispatcher: pool,
          signal: stop,
        }),
      enrollmentKey: config.ENROLLMENT_KEY,
      historyFromMs: historyFromMs(spec),
      shift: spec.hasShift ? shift : undefined,
      images: images.dispatcher,
      reportEveryMs: config.REPORT_EVERY_MS,
      rollBackAfterMs: config.ROLL_BACK_AFTER_MS,
      clock: systemClock,
      log: routerLog,
      signal,
    })
  } catch (error) {
    routerLog('router_failed', { detail: errorText(error) })
  }
})
await Promise.all([...routers, saveProgress(), fillOrganization()])
await images.close()
await pool.destroy()
process.exit(0)

/** The time until which all routers had sampled in the last run. A restart continues from there. */
async function sampledUntil(): Promise<number> {
  const text = await readFile(progressFile, 'utf8').catch(() => '{}')
  const { sampledUntilMs } = JSON.parse(text) as { sampledUntilMs?: number }
  return sampledUntilMs ?? 0
}

async function saveProgress(): Promise<void> {
  await pause(specs.length * startEveryMs + saveEveryMs)
  while (!signal.aborted) {
    await writeFile(`${progressFile}.part`, JSON.stringify({ sampledUntilMs: systemClock() - config.REPORT_EVERY_MS }))
    await rename(`${progressFile}.part`, progressFile)
    await pause(saveEveryMs)
  }
}

function shiftOfYesterday(nowMs: number): Shift {
  const midnightMs = new Date(nowMs).setHours(0, 0, 0, 0) - 24 * hourMs
  return { fromMs: midnightMs + shiftHours.from * hourMs, toMs: midnightMs + shiftHours.to * hourMs }
}

/** Sets up the examples while the routers run. A refusal ends that until the next start. */
async function fillOrganization(): Promise<void> {
  const { API_KEY: apiKey, BASE_URL: baseUrl } = config
  if (!config.EXAMPLES || apiKey === undefined || organizationId === undefined) return
  await pause(specs.length * startEveryMs + examplesAfterMs)
  const call = createServiceCaller({ baseUrl, apiKey, dispatcher: pool })
  const backoff = createBackoff()
  while (!signal.aborted) {
    try {
      const steps = await openSteps(join(folder, 'examples.json'))
      return await setUpExamples({ call, organizationId, specs, steps, log, signal })
    } catch (error) {
      if (signal.aborted) return
      log('examples_delayed', { detail: errorText(error) })
      if (error instanceof SetupRefused) return
      await pause(backoff.next())
    }
  }
}

/**
 * Waits for the service and sets up the demo. A refusal is only logged, because the routers also run without groups. Returns
 * the id of the organization; undefined if it is not set up.
 */
async function prepare(apiKey: string): Promise<string | undefined> {
  const backoff = createBackoff({ maxMs: 10_000 })
  for (let tries = 0; tries < 6 && !signal.aborted; tries += 1) {
    try {
      return await setUpDemo({
        baseUrl: config.BASE_URL,
        apiKey,
        organizationId: config.ORGANIZATION_ID,
        specs,
        dispatcher: pool,
        log,
      })
    } catch (error) {
      log('demo_not_prepared', { detail: errorText(error) })
      if (error instanceof SetupRefused) return undefined
      await pause(backoff.next())
    }
  }
  return undefined
}
