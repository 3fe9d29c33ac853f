import { z } from 'zod'
import { insufficientScope, ServiceError } from '#core/errors'
import { readiness } from '#http/health'
import { mergeExpositions } from '#http/metrics'
import { type Route, route } from '../http/route.ts'

const tag = 'Operations'
const readinessSchema = z.object({ ready: z.boolean(), checks: z.record(z.string(), z.enum(['ok', 'failed'])) })

export const operationRoutes: Route[] = [
  route({
    method: 'get',
    path: '/livez',
    summary: 'Is the process alive?',
    tag,
    access: 'public',
    answers: { 200: { description: 'It is.', schema: z.object({ alive: z.literal(true) }) } },
    handle: async () => ({ status: 200, body: { alive: true } }),
  }),
  route({
    method: 'get',
    path: '/readyz',
    summary: 'Can the service do its work?',
    tag,
    access: 'public',
    answers: {
      200: { description: 'Every part answers.', schema: readinessSchema },
      503: { description: 'A part is away; `checks` says which.' },
    },
    handle: async ({ services }) => {
      const state = await readiness(services.readinessChecks)
      if (state.ready) return { status: 200, body: state }
      throw notReady(state.checks)
    },
  }),
  route({
    method: 'get',
    path: '/metrics',
    summary: 'Prometheus metrics of every app',
    tag,
    access: 'platform',
    answers: { 200: { description: 'Prometheus text.', schema: z.string(), contentType: 'text/plain' } },
    handle: async ({ ctx, services }) => {
      if (!ctx.principal.platform) throw insufficientScope('platform')
      const own = await services.metrics.registry.metrics()
      const others = await Promise.all(Object.entries(services.metricsSources).map(fetchMetrics))
      const text = mergeExpositions({ 'control-plane': own, ...Object.fromEntries(others) })
      return new Response(text, { headers: { 'content-type': services.metrics.registry.contentType } })
    },
  }),
]

/** An app that is away is told by `app_up 0`, not by failing the whole scrape. */
async function fetchMetrics([app, baseUrl]: [string, string]): Promise<[string, string]> {
  const up = (value: 0 | 1) =>
    `# HELP app_up Whether the app answered this scrape.\n# TYPE app_up gauge\napp_up{app="${app}"} ${value}\n`
  try {
    const answer = await fetch(new URL('/metrics', baseUrl), { signal: AbortSignal.timeout(5_000) })
    if (!answer.ok) return [app, up(0)]
    return [app, `${await answer.text()}\n${up(1)}`]
  } catch {
    return [app, up(0)]
  }
}

const notReady = (checks: Record<string, 'ok' | 'failed'>) =>
  new ServiceError(503, 'not_ready', 'A part of the service is away.', {
    members: { checks },
    headers: { 'Retry-After': '1' },
  })
