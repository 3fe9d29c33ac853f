import type { IncomingMessage } from 'node:http'
import { ServiceError } from '#core/errors'
import { createFairTurns } from '#core/fair-turns'
import type { BodyBudget } from '#http/body-budget'
import type { Logger } from '#http/request-log'
import type { TelemetryLog } from '#telemetry-log/log'
import { type AdmissionParts, admitDevice, refuseDisabled, refuseEndedSubscription } from '../access/admission.ts'
import type { DeviceGrant } from '../access/device-grants.ts'
import type { OpenJobs } from '../jobs/open-jobs.ts'
import { toServiceError } from '../to-service-error.ts'
import type { Backlog } from './backlog.ts'
import { type LargeReports, largeReportBytes } from './large-reports.ts'
import { answer, answerProblem, type NodeRoute, requestIdOf } from './node-response.ts'
import { decompress, readBody, readReportHead } from './read-report.ts'
import { type CheckedReport, checkReport } from './report-check.ts'
import { requestsForBytes } from './report-cost.ts'
import type { ReportMetrics } from './report-metrics.ts'

export type ReportParts = AdmissionParts & {
  logger: Logger
  backlog: Backlog
  log: Pick<TelemetryLog, 'append'>
  openJobs: OpenJobs
  /** Limits the memory of request bodies, in total and per device. */
  bodies: BodyBudget
  large: LargeReports
  metrics: ReportMetrics
  /** Samples older than this are rejected, because no plan keeps them. */
  retentionMs: number
  onAccepted: (grant: DeviceGrant, receivedAtMs: number) => void
}

/** Time for checking reports before the event loop serves connections again. */
const turnMs = 20

type Report = { accepted: number; rejected: readonly unknown[]; jobsPending: number }

/**
 * Creates the route of `POST /telemetry`, on node:http: web-standard Request and Response objects with their streams
 * would cost more per report than checking and storing it. The order of the checks is part of the contract: 401, 429,
 * 503, 413/415, 400, 403, 402.
 */
export function createReportRoute(parts: ReportParts): NodeRoute {
  const { traffic, backlog, log, openJobs, bodies, large, metrics } = parts
  const turns = createFairTurns(turnMs)

  async function accept(request: IncomingMessage): Promise<Report | undefined> {
    const { grant, receivedAtMs } = await admitDevice(parts, request)
    backlog.admit(grant.deviceId, receivedAtMs)
    const { format, coding } = readReportHead(request)
    const { deviceId, organizationId, deviceClass } = grant
    let counted = 1
    const countAs = (requests: number) => {
      const more = Math.max(0, requests - counted)
      traffic.charge(deviceId, { counted, more }, receivedAtMs)
      counted += more
    }
    const account = bodies.open(deviceId)
    try {
      const sent = await readBody(request, (total, bytes) => {
        account.take(bytes)
        if (requestsForBytes(total) > counted) countAs(requestsForBytes(total))
      })
      if (sent === undefined) return undefined
      account.arrived()
      const context = { format, receivedAtMs, oldestTsMs: receivedAtMs - parts.retentionMs }
      const isGone = () => request.socket.destroyed
      /** Charges before and after decompression, so that a device over its rate causes no further work. */
      const open = (maxBytes?: number) => {
        countAs(counted)
        const body = decompress(sent, coding, maxBytes)
        if (body) countAs(requestsForBytes(body.length))
        return body
      }
      const admitChecked = (checked: ReturnType<typeof checkReport>) => {
        if (!checked.ok) throw new ServiceError(checked.status, checked.code, checked.detail)
        refuseDisabled(grant)
        refuseEndedSubscription(grant, receivedAtMs)
        countAs(counted + checked.requests - 1)
        return checked
      }
      const store = async (body: Buffer, { sampleCount, rejected, unknownFields }: CheckedReport): Promise<Report> => {
        if (sampleCount > 0) {
          const accepted = { deviceId, organizationId, deviceClass, ...context, sampleCount, body }
          await log.append(coding === 'identity' ? accepted : { ...accepted, compressed: { coding, bytes: sent } })
          traffic.count(deviceId, body.length, receivedAtMs)
          parts.onAccepted(grant, receivedAtMs)
        }
        metrics.countReport({ rejected, unknownFields }, sent.length)
        return { accepted: sampleCount, rejected, jobsPending: openJobs.countFor(deviceId) }
      }

      const small = turns.run(deviceId, () => {
        if (isGone()) return undefined
        const body = open(largeReportBytes)
        if (body === undefined) return 'large'
        return { body, checked: admitChecked(checkReport(body, context)) }
      })
      const report = small instanceof Promise ? await small : small
      if (report !== 'large') return report && (await store(report.body, report.checked))
      // A waiting report keeps only its body as sent. It is decompressed again at its turn.
      return await large.inTurn(deviceId, async () => {
        const opened = isGone() ? undefined : open()
        if (opened === undefined) return undefined
        const { body, checked } = await large.check(opened, context)
        return store(body, admitChecked(checked))
      })
    } finally {
      account.close()
    }
  }

  return (request, response) => {
    const startedMs = performance.now()
    const requestId = requestIdOf(request)
    accept(request).then(
      (report) => {
        // The client disconnected before the end of its body. Nothing was stored.
        if (report === undefined) return void response.destroy()
        answer(response, 202, requestId, report)
        metrics.observe(202, performance.now() - startedMs)
      },
      (error: unknown) => {
        const problem = answerProblem(response, toServiceError(error, requestId, parts.logger), requestId)
        // Read and discard the rest of the body, so that the client can read the response.
        request.resume()
        metrics.observe(problem.status, performance.now() - startedMs, problem.code)
      },
    )
  }
}
