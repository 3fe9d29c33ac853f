import { z } from 'zod'
import { insufficientScope, ServiceError } from '#core/errors'
import { readiness } from '#http/health'
import { type Route, route } from '../http/route.ts'
import { collectMetrics } from './collect-metrics.ts'

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
      const text = await collectMetrics(services)
      return new Response(text, { headers: { 'content-type': services.metrics.registry.contentType } })
    },
  }),
]

const notReady = (checks: Record<string, 'ok' | 'failed'>) =>
  new ServiceError(503, 'not_ready', 'The service is not ready.', {
    members: { checks },
    headers: { 'Retry-After': '1' },
  })
