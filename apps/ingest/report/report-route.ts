import type { IncomingMessage } from 'node:http'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import type { BodyBudget } from '#http/body-budget'
import type { TelemetryLog } from '#telemetry-log/log'
import { LogFailedError, LogFullError } from '#telemetry-log/log'
import type { DeviceAccess } from '../access/device-access.ts'
import type { DeviceGrant } from '../access/device-grants.ts'
import type { FailedAuthentications } from '../access/failed-authentications.ts'
import type { OpenJobs } from '../jobs/open-jobs.ts'
import { type Backlog, noRoom } from './backlog.ts'
import type { DeviceTraffic } from './device-traffic.ts'
import { createFairTurns } from './fair-turns.ts'
import { type LargeReports, largeReportBytes } from './large-reports.ts'
import { answer, answerProblem, requestIdOf, type StraightRoute } from './node-response.ts'
import { decompress, readBody, readReportHead } from './read-report.ts'
import { type CheckedReport, checkReport } from './report-check.ts'
import { requestsForBytes } from './report-cost.ts'
import type { ReportMetrics } from './report-metrics.ts'

export type ReportParts = {
  clock: Clock
  access: DeviceAccess
  failedAuthentications: FailedAuthentications
  traffic: DeviceTraffic
  backlog: Backlog
  log: TelemetryLog
  openJobs: OpenJobs
  /** What bodies of reports may hold together, and those of one device. */
  bodies: BodyBudget
  large: LargeReports
  metrics: ReportMetrics
  /** Samples older than this before their arrival are refused: no plan keeps them. */
  retentionMs: number
  onAccepted: (grant: DeviceGrant, receivedAtMs: number) => void
  onFailure: (requestId: string, error: unknown) => void
}

type Report = { accepted: number; rejected: readonly unknown[]; jobsPending: number }

/**
 * `POST /telemetry`, straight on node:http: a router of the web-standard kind would make a Request, a Response and two
 * streams for each report, which costs more than checking and keeping it. Checks come in the contract's order:
 * 401, 429, 503, 413/415, 400, 403, 402.
 */
export function createReportRoute(parts: ReportParts): StraightRoute {
  const { clock, access, failedAuthentications, traffic, backlog, log, openJobs, bodies, large, metrics } = parts
  const turns = createFairTurns()

  async function authenticate(request: IncomingMessage): Promise<DeviceGrant> {
    try {
      const known = access.authenticate(request.headers.authorization)
      return known instanceof Promise ? await known : known
    } catch (error) {
      await failedAuthentications.count(request, error)
      throw error
    }
  }

  async function accept(request: IncomingMessage): Promise<Report | undefined> {
    const grant = await authenticate(request)
    const receivedAtMs = clock()
    traffic.admit(grant.deviceId, receivedAtMs)
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
      /** Reports admitted together with dearer ones are refused here before they cost anything. */
      const open = (maxBytes?: number) => {
        countAs(counted)
        const body = decompress(sent, coding, maxBytes)
        if (body) countAs(requestsForBytes(body.length))
        return body
      }
      const take = (checked: ReturnType<typeof checkReport>) => {
        if (!checked.ok) throw new ServiceError(checked.status, checked.code, checked.detail)
        refuseIneligible(grant, receivedAtMs)
        countAs(counted + checked.requests - 1)
        return checked
      }
      const keep = async (body: Buffer, { sampleCount, rejected, unknownFields }: CheckedReport): Promise<Report> => {
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
        return { body, checked: take(checkReport(body, context)) }
      })
      const report = small instanceof Promise ? await small : small
      if (report !== 'large') return report && (await keep(report.body, report.checked))
      // What waits is the body as it was sent; it is decompressed again when its turn comes.
      return await large.inTurn(deviceId, async () => {
        const opened = isGone() ? undefined : open()
        if (opened === undefined) return undefined
        const { body, checked } = await large.check(opened, context)
        return keep(body, take(checked))
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
        // The sender went away in the middle of its body: nothing was kept and nobody is left to answer.
        if (report === undefined) return void response.destroy()
        answer(response, 202, requestId, report)
        metrics.observe(202, performance.now() - startedMs)
      },
      (error: unknown) => {
        const shown = shownError(error)
        if (!(shown instanceof ServiceError)) parts.onFailure(requestId, error)
        const problem = answerProblem(response, shown, requestId)
        // What is still on its way is read and dropped, so that the sender gets to see the answer.
        request.resume()
        metrics.observe(problem.status, performance.now() - startedMs, problem.code)
      },
    )
  }
}

function refuseIneligible(grant: DeviceGrant, nowMs: number): void {
  if (grant.disabled) throw new ServiceError(403, 'device_disabled', 'The device is disabled.')
  if (nowMs < grant.refusedFromMs) return
  throw new ServiceError(402, 'subscription_inactive', "The organization's subscription ended more than 30 days ago.")
}

function shownError(error: unknown): unknown {
  if (error instanceof LogFullError) return noRoom()
  if (!(error instanceof LogFailedError)) return error
  return new ServiceError(503, 'unavailable', 'The report could not be kept. Send it again shortly.', {
    headers: { 'Retry-After': '5' },
  })
}
