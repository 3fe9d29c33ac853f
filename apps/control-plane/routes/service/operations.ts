import { z } from 'zod'
import { insufficientScope, ServiceError } from '#core/errors'
import { version } from '#core/version'
import { readiness } from '#http/health'
import type { Copies } from '#questdb/copies/copies'
import { type Route, route } from '../../http/route.ts'
import { collectMetrics } from './collect-metrics.ts'

const tag = 'Operations'
const copySchema = z.object({
  name: z.string(),
  answers: z.boolean(),
  lagS: z.number().nullable().describe('Reports that were accepted longer ago can be read. Null if unknown.'),
  isRead: z.boolean(),
})
const readinessSchema = z
  .object({
    version: z.string().describe('The version that this process runs.'),
    ready: z.boolean(),
    checks: z.record(z.string(), z.enum(['ok', 'failed'])),
    copies: z.array(copySchema).optional().describe('The copies of QuestDB, if there are several.'),
  })
  .meta({ id: 'Readiness' })

export const operationRoutes: Route[] = [
  route({
    method: 'get',
    path: '/livez',
    operationId: 'checkLiveness',
    summary: 'Check liveness',
    tag,
    access: 'public',
    answers: {
      200: {
        description: 'The process is alive.',
        schema: z.object({ alive: z.literal(true) }).meta({ id: 'Liveness' }),
      },
    },
    handle: async () => ({ status: 200, body: { alive: true } }),
  }),
  route({
    method: 'get',
    path: '/readyz',
    operationId: 'checkReadiness',
    summary: 'Check readiness',
    tag,
    access: 'public',
    answers: {
      200: { description: 'All checks pass.', schema: readinessSchema },
      503: {
        description:
          'A check fails; `checks` names it, and `reasons` says why if it is known. `questdb` fails if no copy lags less than ' +
          '60 s, and until ingest has created or upgraded the tables.',
      },
    },
    handle: async ({ services }) => {
      const state = await readiness(services.readinessChecks)
      const copies = copyViews(services.copies)
      if (state.ready) return { status: 200, body: { version, ...state, ...copies } }
      throw notReady({ version, checks: state.checks, ...(state.reasons && { reasons: state.reasons }), ...copies })
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

/** The member `copies` of the response, if there are several. */
function copyViews(copies: Copies): { copies?: z.infer<typeof copySchema>[] } {
  const reports = copies.report()
  if (reports.length === 0) return {}
  const lagS = (lagMs: number | null) => lagMs && Math.round(lagMs / 100) / 10
  return { copies: reports.map(({ lagMs, ...report }) => ({ ...report, lagS: lagS(lagMs) })) }
}

const notReady = (members: Record<string, unknown>) =>
  new ServiceError(503, 'not_ready', 'The service is not ready.', {
    members,
    headers: { 'Retry-After': '1' },
  })
