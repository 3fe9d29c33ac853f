import type { IncomingMessage } from 'node:http'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { decodeBatch } from '#telemetry/accept'
import type { TelemetryLog } from '#telemetry-log/log'
import { LogFailedError, LogFullError } from '#telemetry-log/log'
import type { DeviceAccess } from '../access/device-access.ts'
import type { DeviceGrant } from '../access/device-grants.ts'
import type { FailedAuthentications } from '../access/failed-authentications.ts'
import type { OpenJobs } from '../jobs/open-jobs.ts'
import { type Backlog, noRoom } from './backlog.ts'
import type { DeviceTraffic } from './device-traffic.ts'
import { createFairTurns } from './fair-turns.ts'
import { answer, answerProblem, requestIdOf, type StraightRoute } from './node-response.ts'
import { decompress, readBody, readReportHead } from './read-report.ts'
import { requestsForBytes, requestsForDays } from './report-cost.ts'
import type { ReportMetrics } from './report-metrics.ts'

export type ReportParts = {
  clock: Clock
  access: DeviceAccess
  failedAuthentications: FailedAuthentications
  traffic: DeviceTraffic
  backlog: Backlog
  log: TelemetryLog
  openJobs: OpenJobs
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
  const { clock, access, failedAuthentications, traffic, backlog, log, openJobs, metrics } = parts
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
    const sent = await readBody(request, (bytes) => {
      if (requestsForBytes(bytes) > counted) countAs(requestsForBytes(bytes))
    })
    if (sent === undefined) return undefined
    const oldestTsMs = receivedAtMs - parts.retentionMs
    const check = () => {
      if (request.socket.destroyed) return undefined
      // Reports admitted together with dearer ones are refused here before they cost anything.
      countAs(counted)
      const body = decompress(sent, coding)
      countAs(requestsForBytes(body.length))
      const decoded = decodeBatch(body, format, { receivedAtMs, oldestTsMs })
      if (!decoded.ok) throw new ServiceError(decoded.status, decoded.code, decoded.detail)
      refuseIneligible(grant, receivedAtMs)
      countAs(counted + requestsForDays(decoded.samples) - 1)
      return { body, decoded }
    }
    const checked = turns.run(deviceId, check)
    const report = checked instanceof Promise ? await checked : checked
    if (report === undefined) return undefined
    const { body, decoded } = report

    const sampleCount = decoded.samples.length
    if (sampleCount > 0) {
      const accepted = { deviceId, organizationId, deviceClass, receivedAtMs, oldestTsMs, format, sampleCount, body }
      await log.append(coding === 'identity' ? accepted : { ...accepted, compressed: { coding, bytes: sent } })
      traffic.count(deviceId, body.length, receivedAtMs)
      parts.onAccepted(grant, receivedAtMs)
    }
    metrics.countReport(decoded, sent.length)
    return { accepted: sampleCount, rejected: decoded.rejected, jobsPending: openJobs.countFor(deviceId) }
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
