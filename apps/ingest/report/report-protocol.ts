import type { IncomingMessage, ServerResponse } from 'node:http'
import { reportPath } from '#device-edge/contract'
import type { BatchFormat } from '#telemetry/report/envelope'
import type { DeviceGrant } from '../access/device-grants.ts'
import { answer, answerProblem } from '../http/node-response.ts'
import { type ContentCoding, readContentCoding, readReportFormat } from './read-report.ts'
import type { CheckedReport, ForeignReport } from './report-check.ts'

/** A stored report, for the response. */
export type AcceptedReport = Pick<CheckedReport, 'rejected' | 'droppedFields'> & {
  accepted: number
  jobsPending: number
}

/** The facts in the head of a report. `foreign`: how to translate the body, if it is not in our own format. */
type ReportHead = { format: BatchFormat; coding: ContentCoding; foreign?: ForeignReport }

/** How one protocol finds the credentials, reads the head and answers. Everything else is the same for all reports. */
export type ReportProtocol = {
  /** The label `source` in metrics. */
  source: string
  /** The path pattern, for metrics. */
  route: string
  authorizationOf: (request: IncomingMessage) => string | undefined
  /** Throws 404 if the path names another device. */
  requireDevice: (request: IncomingMessage, grant: DeviceGrant) => void
  /** Throws 413 and 415. */
  readHead: (request: IncomingMessage) => ReportHead
  answer: (request: IncomingMessage, response: ServerResponse, requestId: string, report: AcceptedReport) => number
  /** Sends any thrown value. Returns the status and the code of the problem. */
  answerError: (
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    error: unknown,
  ) => { status: number; code: string }
}

/** `POST /telemetry`. */
export const ownProtocol: ReportProtocol = {
  source: 'routerfleet',
  route: reportPath,
  authorizationOf: (request) => request.headers.authorization,
  requireDevice: () => {},
  readHead: (request) => ({ format: readReportFormat(request), coding: readContentCoding(request) }),
  answer(_request, response, requestId, { accepted, rejected, jobsPending }) {
    answer(response, 202, requestId, { accepted, rejected, jobsPending })
    return 202
  },
  answerError: (_request, response, requestId, error) => answerProblem(response, error, requestId),
}
