import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export type HttpMetrics = {
  registry: Registry
  observe(request: { method: string; route: string; status: number; durationMs: number }): void
}

/** A registry with the process's own figures and the request metrics every app has. Durations are in seconds. */
export function createHttpMetrics(app: string): HttpMetrics {
  const registry = new Registry()
  registry.setDefaultLabels({ app })
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

/**
 * Joins several processes' Prometheus texts into one valid exposition: each metric family is announced once, and a
 * sample that does not name its app is labelled with it, so that equal series of two processes stay apart.
 */
export function mergeExpositions(texts: Record<string, string>): string {
  const families = new Map<string, { head: string[]; samples: string[] }>()
  for (const [app, text] of Object.entries(texts)) {
    let current = { head: [] as string[], samples: [] as string[] }
    for (const line of text.split('\n')) {
      const announced = /^# (?:HELP|TYPE) (\S+)/.exec(line)
      if (announced?.[1]) {
        current = families.get(announced[1]) ?? { head: [], samples: [] }
        families.set(announced[1], current)
        const kind = line.slice(0, 6)
        if (!current.head.some((known) => known.startsWith(kind))) current.head.push(line)
      } else if (line !== '' && !line.startsWith('#')) current.samples.push(withAppLabel(line, app))
    }
  }
  return `${[...families.values()].flatMap(({ head, samples }) => [...head, ...samples]).join('\n')}\n`
}

function withAppLabel(sample: string, app: string): string {
  if (/[{,]app="/.test(sample)) return sample
  const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?(\s.*)$/.exec(sample)
  if (!match) return sample
  const labels = [`app="${app}"`, ...(match[2] ? [match[2]] : [])].join(',')
  return `${match[1]}{${labels}}${match[3]}`
}
