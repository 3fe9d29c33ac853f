import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export type HttpMetrics = {
  registry: Registry
  observe(request: { method: string; route: string; status: number; durationMs: number }): void
}

/** A registry with the process's own figures and the request metrics every app has. Durations are in seconds. */
export function createHttpMetrics(): HttpMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const total = new Counter({
    name: 'http_requests_total',
    help: 'Requests answered, by route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request head to the answer, by route pattern.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  return {
    registry,
    observe({ method, route, status, durationMs }) {
      total.inc({ method, route, status })
      seconds.observe({ method, route }, durationMs / 1000)
    },
  }
}

type Family = { head: string[]; samples: { app: string; line: string }[] }

/**
 * Joins several processes' Prometheus texts into one valid exposition: each metric family is announced once, and the
 * samples of a family that several apps have are labelled with their app, so that equal series stay apart.
 */
export function mergeExpositions(texts: Record<string, string>): string {
  const families = new Map<string, Family>()
  for (const [app, text] of Object.entries(texts)) addExposition(families, app, text)
  const lines = [...families.values()].flatMap(({ head, samples }) => {
    const shared =
      new Set(samples.map(({ app }) => app)).size > 1 && !samples.some(({ line }) => line.includes('{app="'))
    return [...head, ...samples.map(({ app, line }) => (shared ? withAppLabel(line, app) : line))]
  })
  return `${lines.join('\n')}\n`
}

function addExposition(families: Map<string, Family>, app: string, text: string): void {
  let current: Family = { head: [], samples: [] }
  for (const line of text.split('\n')) {
    const announced = /^# (HELP|TYPE) (\S+)/.exec(line)
    if (announced?.[2]) {
      current = families.get(announced[2]) ?? { head: [], samples: [] }
      families.set(announced[2], current)
      if (!current.head.some((known) => known.startsWith(`# ${announced[1]}`))) current.head.push(line)
    } else if (line !== '' && !line.startsWith('#')) current.samples.push({ app, line })
  }
}

function withAppLabel(sample: string, app: string): string {
  const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?(\s.*)$/s.exec(sample)
  if (!match) return sample
  const labels = [`app="${app}"`, ...(match[2] ? [match[2]] : [])].join(',')
  return `${match[1]}{${labels}}${match[3]}`
}
