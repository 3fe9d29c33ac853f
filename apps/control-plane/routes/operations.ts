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
    summary: 'Check liveness',
    tag,
    access: 'public',
    answers: { 200: { description: 'The process is alive.', schema: z.object({ alive: z.literal(true) }) } },
    handle: async () => ({ status: 200, body: { alive: true } }),
  }),
  route({
    method: 'get',
    path: '/readyz',
    summary: 'Check readiness',
    tag,
    access: 'public',
    answers: {
      200: { description: 'All checks pass.', schema: readinessSchema },
      503: { description: 'A check fails; `checks` names it.' },
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
    summary: 'Get Prometheus metrics of all apps',
    tag,
    access: 'platform',
    answers: {
      200: { description: 'Metrics in the Prometheus text format.', schema: z.string(), contentType: 'text/plain' },
    },
    handle: async ({ ctx, services }) => {
      if (!ctx.principal.platform) throw insufficientScope('platform')
      const own = await services.metrics.registry.metrics()
      const others = await Promise.all(Object.entries(services.metricsSources).map(fetchMetrics))
      const text = mergeExpositions({ 'control-plane': own, ...Object.fromEntries(others) })
      return new Response(text, { headers: { 'content-type': services.metrics.registry.contentType } })
    },
  }),
]

/** Reports an app that does not respond as `app_up 0`, so that the scrape succeeds for the other apps. */
async function fetchMetrics([app, baseUrl]: [string, string]): Promise<[string, string]> {
  const up = (value: 0 | 1) =>
    `# HELP app_up Whether the app responded to this scrape.\n# TYPE app_up gauge\napp_up{app="${app}"} ${value}\n`
  try {
    const answer = await fetch(new URL('/metrics', baseUrl), { signal: AbortSignal.timeout(5_000) })
    if (!answer.ok) return [app, up(0)]
    return [app, `${await answer.text()}\n${up(1)}`]
  } catch {
    return [app, up(0)]
  }
}

const notReady = (checks: Record<string, 'ok' | 'failed'>) =>
  new ServiceError(503, 'not_ready', 'The service is not ready.', {
    members: { checks },
    headers: { 'Retry-After': '1' },
  })
