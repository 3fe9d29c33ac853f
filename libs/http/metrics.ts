import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { version } from '#core/version'

export type HttpMetrics = {
  registry: Registry
  observe(request: { method: string; route: string; status: number; durationMs: number }): void
  /** Counts a request that uses a deprecated operation, or a deprecated parameter of an operation. */
  observeDeprecated(use: { operation: string; parameter: string }): void
}

/** The metrics of the event loop's lag include this time, so an idle process reports 0.1 s. */
const eventLoopTimerMs = 100

/** Creates a registry with the default metrics of the process and the request metrics of every app, in seconds. */
export function createHttpMetrics(): HttpMetrics {
  const registry = new Registry()
  // The timer that measures the event loop is the most frequent wake-up of an idle process.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopTimerMs })
  const build = new Gauge({
    name: 'routerfleet_build_info',
    help: 'Always 1. The label has the version that the process runs.',
    labelNames: ['version'],
    registers: [registry],
  })
  build.set({ version }, 1)
  const total = new Counter({
    name: 'http_requests_total',
    help: 'Completed requests, by route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request head to the response, by route pattern.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  const deprecated = new Counter({
    name: 'http_deprecated_requests_total',
    help: 'Requests that use a deprecated operation, or a deprecated parameter of it.',
    labelNames: ['operation', 'parameter'],
    registers: [registry],
  })
  return {
    registry,
    observeDeprecated: (use) => deprecated.inc(use),
    observe({ method, route, status, durationMs }) {
      total.inc({ method, route, status })
      seconds.observe({ method, route }, durationMs / 1000)
    },
  }
}

/** Registers a counter whose value is read at every scrape. */
export function counterOf(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

/** Registers a gauge whose value is read at every scrape. */
export function gaugeOf(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}

/** The Prometheus text of one process. `copy` names the process if the app has several. */
export type Exposition = { app: string; copy?: string | undefined; text: string }

type Sample = Omit<Exposition, 'text'> & { line: string }
type Family = { head: string[]; samples: Sample[] }

/**
 * Merges the Prometheus texts of several processes into one valid exposition. Each metric family has one head. Samples of a
 * family that several apps export get an `app` label, and those of an app with several copies get a `copy` label, so that
 * equal series stay distinct.
 */
export function mergeExpositions(expositions: readonly Exposition[]): string {
  const families = new Map<string, Family>()
  for (const exposition of expositions) addExposition(families, exposition)
  const lines = [...families.values()].flatMap(({ head, samples }) => {
    const shared =
      new Set(samples.map(({ app }) => app)).size > 1 && !samples.some(({ line }) => line.includes('{app="'))
    return [...head, ...samples.map((sample) => labelled(sample, shared))]
  })
  return `${lines.join('\n')}\n`
}

function addExposition(families: Map<string, Family>, { app, copy, text }: Exposition): void {
  let current: Family = { head: [], samples: [] }
  for (const line of text.split('\n')) {
    const header = /^# (HELP|TYPE) (\S+)/.exec(line)
    if (header?.[2]) {
      current = families.get(header[2]) ?? { head: [], samples: [] }
      families.set(header[2], current)
      if (!current.head.some((known) => known.startsWith(`# ${header[1]}`))) current.head.push(line)
    } else if (line !== '' && !line.startsWith('#')) current.samples.push({ app, copy, line })
  }
}

function labelled({ app, copy, line }: Sample, withApp: boolean): string {
  const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?(\s.*)$/s.exec(line)
  if (!match || !(withApp || copy)) return line
  const labels = [withApp && `app="${app}"`, match[2], copy && `copy="${copy}"`].filter(Boolean)
  return `${match[1]}{${labels.join(',')}}${match[3]}`
}
