import type { IncomingMessage } from 'node:http'
import { ServiceError } from '#core/errors'
import { createFairTurns } from '#core/fair-turns'
import type { BodyBudget } from '#http/body-budget'
import type { Logger } from '#http/request-log'
import type { TelemetryLog } from '#telemetry-log/log'
import {
  type AdmissionParts,
  admitDevice,
  gatewayDeviceOf,
  hasOwnToken,
  receiptTime,
  refuseDisabled,
  refuseEndedSubscription,
} from '../access/admission.ts'
import type { DeviceGrant } from '../access/device-grants.ts'
import { type NodeRoute, requestIdOf } from '../http/node-response.ts'
import { toServiceError } from '../http/to-service-error.ts'
import type { OpenJobs } from '../jobs/open-jobs.ts'
import type { Backlog } from './backlog.ts'
import { type LargeReports, largeReportBytes } from './large-reports.ts'
import { decompress, readBody } from './read-report.ts'
import { type Check, type CheckContext, type CheckedReport, checkReport } from './report-check.ts'
import { requestsForBytes } from './report-cost.ts'
import type { ReportMetrics } from './report-metrics.ts'
import { type AcceptedReport, ownProtocol, type ReportProtocol } from './report-protocol.ts'

export type ReportParts = AdmissionParts & {
  logger: Logger
  backlog: Backlog
  log: Pick<TelemetryLog, 'append'>
  openJobs: OpenJobs
  /** Limits the memory of request bodies, in total and per device. */
  bodies: BodyBudget
  large: LargeReports
  metrics: (protocol: Pick<ReportProtocol, 'source' | 'route'>) => ReportMetrics
  /** Samples older than this are rejected, because no plan keeps them. */
  retentionMs: number
  onAccepted: (grant: DeviceGrant, receivedAtMs: number) => void
}

/** The label `source` of reports in our own format that a gateway delivered. */
const gatewaySource = 'gateway'

/** Time for checking reports before the event loop serves connections again. */
const turnMs = 20

/** A report whose body has arrived. */
type Received = {
  grant: DeviceGrant
  receivedAtMs: number
  context: CheckContext
  coding: ReturnType<ReportProtocol['readHead']>['coding']
  sent: Buffer
  charge: Charge
  metrics: ReportMetrics
}

/** A report that passed all checks. */
type Admitted = { body: Buffer; checked: CheckedReport }

/**
 * Creates the routes that accept reports, on node:http: web-standard Request and Response objects with their streams
 * would cost more per report than checking and storing it. Reports of all protocols take the same path and share its limits.
 * The order of the checks is part of the contract: 401, 429, 404, 503, 413/415, 400, 403, 402.
 */
export function createReportRoutes(parts: ReportParts): (protocol?: ReportProtocol) => NodeRoute {
  const { traffic, backlog, bodies, large } = parts
  const turns = createFairTurns(turnMs)

  async function accept(
    request: IncomingMessage,
    protocol: ReportProtocol,
    metrics: ReportMetrics,
  ): Promise<AcceptedReport | undefined> {
    const { grant, receivedAtMs } = await admitDevice(parts, request, protocol.authorizationOf(request))
    protocol.requireDevice(request, grant)
    backlog.admit(grant.deviceId, receivedAtMs)
    const { format, coding, foreign } = protocol.readHead(request)
    const { deviceId } = grant
    const charge = createCharge(traffic, deviceId, receivedAtMs)
    const account = bodies.open(deviceId)
    try {
      const sent = await readBody(request, (total, bytes) => {
        account.take(bytes)
        charge.asBytes(total)
      })
      if (sent === undefined) return undefined
      account.arrived()
      const context = {
        format,
        receivedAtMs: receiptTime(request, receivedAtMs),
        oldestTsMs: receivedAtMs - parts.retentionMs,
        ...(foreign ? { foreign } : {}),
      }
      const received = { grant, receivedAtMs, context, coding, sent, charge, metrics }
      const isGone = () => request.socket.destroyed
      const small = turns.run(deviceId, () => {
        if (isGone()) return undefined
        const body = open(received, largeReportBytes)
        if (body === undefined) return 'large'
        return admitChecked(received, checkReport(body, context))
      })
      const report = small instanceof Promise ? await small : small
      if (report !== 'large') return report && (await store(parts, received, report))
      // A waiting report keeps only its body as sent. It is decompressed again at its turn.
      return await large.inTurn(deviceId, async () => {
        const opened = isGone() ? undefined : open(received)
        if (opened === undefined) return undefined
        return store(parts, received, admitChecked(received, await large.check(opened, context)))
      })
    } finally {
      account.close()
    }
  }

  return (protocol = ownProtocol) => {
    const direct = parts.metrics(protocol)
    // Of our own format, the label says that a gateway delivered the report. Other protocols have their own label.
    const delivered = protocol === ownProtocol ? parts.metrics({ ...protocol, source: gatewaySource }) : direct
    return (request, response) => {
      const metrics = gatewayDeviceOf(request) === undefined ? direct : delivered
      const startedMs = performance.now()
      const requestId = requestIdOf(request)
      accept(request, protocol, metrics).then(
        (report) => {
          // The client disconnected before the end of its body. Nothing was stored.
          if (report === undefined) return void response.destroy()
          metrics.observe(protocol.answer(request, response, requestId, report), performance.now() - startedMs)
        },
        (error: unknown) => {
          const shown = toServiceError(error, requestId, parts.logger)
          const { status, code } = protocol.answerError(request, response, requestId, shown)
          // Read and discard the rest of the body, so that the client can read the response.
          request.resume()
          metrics.observe(status, performance.now() - startedMs, code)
        },
      )
    }
  }
}

type Charge = {
  /** Counts the report as so many requests in all. Throws 429 if the device is over its rate. */
  as(requests: number): void
  /** Counts it as the requests that so many bytes stand for. */
  asBytes(bytes: number): void
  counted(): number
}

/** Counts a report as requests of its device. */
function createCharge(traffic: ReportParts['traffic'], deviceId: string, receivedAtMs: number): Charge {
  let counted = 1
  function as(requests: number): void {
    const more = Math.max(0, requests - counted)
    traffic.charge(deviceId, { counted, more }, receivedAtMs)
    counted += more
  }
  return {
    as,
    asBytes(bytes) {
      const requests = requestsForBytes(bytes)
      if (requests > counted) as(requests)
    },
    counted: () => counted,
  }
}

/** Decompresses a body. Charges before and after that, so that a device over its rate causes no further work. */
function open({ sent, coding, charge }: Received, maxBytes?: number): Buffer | undefined {
  charge.as(charge.counted())
  const body = decompress(sent, coding, maxBytes)
  if (body) charge.as(requestsForBytes(body.length))
  return body
}

/** Throws the reason if the report is rejected. */
function admitChecked({ grant, receivedAtMs, charge }: Received, { body, checked }: Check): Admitted {
  if (!checked.ok) throw new ServiceError(checked.status, checked.code, checked.detail)
  refuseDisabled(grant)
  refuseEndedSubscription(grant, receivedAtMs)
  charge.as(charge.counted() + checked.requests - 1)
  return { body, checked }
}

/** Appends the report to the log and counts it. Resolves when it is durable. */
async function store(parts: ReportParts, received: Received, { body, checked }: Admitted): Promise<AcceptedReport> {
  const { traffic, log, openJobs, onAccepted } = parts
  const { grant, receivedAtMs, context, coding, sent, metrics } = received
  const { deviceId, organizationId, deviceClass } = grant
  const { sampleCount, rejected, droppedFields } = checked
  if (sampleCount > 0) {
    const { format, receivedAtMs: receiptMs, oldestTsMs, foreign } = context
    const times = { receivedAtMs: receiptMs, oldestTsMs }
    const accepted = { deviceId, organizationId, deviceClass, format, ...times, sampleCount, body }
    const isAsSent = coding !== 'identity' && !foreign
    await log.append(isAsSent ? { ...accepted, compressed: { coding, bytes: sent } } : accepted)
    traffic.count(deviceId, body.length, receivedAtMs)
    onAccepted(grant, receivedAtMs)
  }
  metrics.countReport(checked, sent.length)
  // A gateway does not get the jobs of a device with a token of its own, so it need not ask for them.
  const jobsPending = hasOwnToken(grant, receivedAtMs) ? 0 : openJobs.countFor(deviceId)
  return { accepted: sampleCount, rejected, droppedFields, jobsPending }
}
