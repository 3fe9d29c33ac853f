import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '#core/clock'
import type { Tracing } from '#core/tracing'
import { nextJobPath } from '#device-edge/contract'
import { createKeyring } from '#fleet/crypto/keyring'
import type { Plans } from '#fleet/organizations/plans'
import { createBodyBudget, registerBodyMetrics } from '#http/body-budget'
import type { ReadinessCheck } from '#http/health'
import type { HttpMetrics } from '#http/metrics'
import type { Logger } from '#http/request-log'
import { requestListener } from '#http/server'
import type { FairPool } from '#postgres/fair-pool'
import type { DeviceAccess } from './access/device-access.ts'
import { enrollRoute, unauthenticatedBodies } from './access/enroll.ts'
import type { FailedAuthentications } from './access/failed-authentications.ts'
import { tokenCheckRoute } from './access/token-check.ts'
import type { IngestConfig } from './config.ts'
import { createApp } from './http/app.ts'
import type { DeviceTraffic } from './http/device-traffic.ts'
import { configRoute, reportedConfigRoute } from './jobs/device-config.ts'
import { createMailbox, type Mailbox } from './jobs/mailbox.ts'
import { registerMailboxMetrics } from './jobs/metrics.ts'
import { createNextJobRoute } from './jobs/next-route.ts'
import type { OpenJobs } from './jobs/open-jobs.ts'
import { jobStatusRoute } from './jobs/status-route.ts'
import { createTakeLine } from './jobs/take-line.ts'
import { createReportMetrics } from './report/report-metrics.ts'
import { createReportRoutes, type ReportParts } from './report/report-route.ts'
import { createReportRouter } from './report/report-router.ts'
import type { ReportStore } from './report-store.ts'

const mebibyte = 1024 ** 2
/** Limits for the bodies of reports, as sent, until their response. A device on a slow line sends few at a time. */
const reportBodyLimits = { bytes: 64 * mebibyte, bytesPerHolder: 16 * mebibyte }
const dayMs = 24 * 60 * 60 * 1_000

/** All routes for devices and gateways, as one listener of node:http. `mailbox` has the long polls. */
export function createDeviceEdge(parts: {
  config: IngestConfig
  pools: FairPool
  plans: Plans
  clock: Clock
  access: DeviceAccess
  traffic: DeviceTraffic
  failedAuthentications: FailedAuthentications
  openJobs: OpenJobs
  store: Pick<ReportStore, 'log' | 'backlog' | 'large'>
  retentionDays: number
  checks: readonly ReadinessCheck[]
  tracing: Tracing | undefined
  metrics: HttpMetrics
  logger: Logger
  onAccepted: ReportParts['onAccepted']
}): { serve: (request: IncomingMessage, response: ServerResponse) => void; mailbox: Mailbox } {
  const { config, pools, plans, clock, access, traffic, failedAuthentications, openJobs, store } = parts
  const { retentionDays, checks, tracing, metrics, logger, onAccepted } = parts
  const { registry } = metrics
  const bodies = createBodyBudget(unauthenticatedBodies)
  registerBodyMetrics(registry, 'unauthenticated', bodies)
  const reportBodies = createBodyBudget(reportBodyLimits)
  registerBodyMetrics(registry, 'reporting', reportBodies)
  const calls = { clock, access, failedAuthentications, traffic }
  const reportRoute = createReportRoutes({
    ...calls,
    ...store,
    openJobs,
    bodies: reportBodies,
    metrics: createReportMetrics(metrics),
    retentionMs: retentionDays * dayMs,
    onAccepted,
    logger,
  })
  const keyring = createKeyring(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS)
  const mailbox = createMailbox(createTakeLine({ pools, clock }))
  registerMailboxMetrics(registry, mailbox)
  const routes = [
    enrollRoute({ pools, plans, failedAuthentications, bodies }),
    tokenCheckRoute({ access, failedAuthentications }),
    jobStatusRoute({ ...calls, pools, tracing }),
    configRoute({ ...calls, pools, keyring }),
    reportedConfigRoute({ ...calls, pools, keyring }),
  ]
  const reports = createReportRouter(reportRoute)
  const nextJob = createNextJobRoute({ ...calls, pools, keyring, mailbox, metrics, logger, tracing })
  const app = requestListener(createApp({ logger, metrics, checks, routes }).fetch)
  return {
    mailbox,
    serve(request, response) {
      const report = request.method === 'POST' ? reports(request.url ?? '') : undefined
      if (report) report(request, response)
      else if (request.method === 'GET' && isAt(nextJobPath, request.url)) nextJob(request, response)
      else app(request, response)
    },
  }
}

const isAt = (path: string, url: string | undefined) => url === path || url?.startsWith(`${path}?`)
