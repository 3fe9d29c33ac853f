import type { ServerResponse } from 'node:http'
import { type Adapter, type AdapterReply, adapterHeadOf } from '#adapters/adapter'
import { notFound, ServiceError } from '#core/errors'
import { toProblem } from '#http/problem'
import { readContentCoding, requireContentLength } from './read-report.ts'
import type { ReportProtocol } from './report-protocol.ts'

/** Returns the protocol of an adapter. Its body is translated where reports are checked. */
export function adapterProtocol(adapter: Adapter): ReportProtocol {
  const { source, mediaTypes } = adapter
  return {
    source,
    route: adapter.path,
    authorizationOf: (request) => adapter.authorizationOf(adapterHeadOf(request)),
    requireDevice(request, { deviceId }) {
      const named = adapter.deviceIdOf?.(adapterHeadOf(request))
      if (named !== undefined && named.toLowerCase() !== deviceId) throw notFound('device', named)
    },
    readHead(request) {
      requireContentLength(request)
      const head = adapterHeadOf(request)
      if (mediaTypes && !mediaTypes.includes(head.mediaType)) throw unsupportedMediaType(mediaTypes)
      return { format: 'json', coding: readContentCoding(request), foreign: { source, head } }
    },
    answer(request, response, requestId, { accepted, rejected, droppedFields }) {
      const dropped = droppedFields.reduce((sum, { count }) => sum + count, 0)
      return send(response, requestId, adapter.answer({ accepted, rejected, dropped }, adapterHeadOf(request)))
    },
    answerError(request, response, requestId, error) {
      const problem = toProblem(error, requestId)
      const reply = adapter.answerProblem(problem, adapterHeadOf(request))
      const headers = error instanceof ServiceError ? error.headers : undefined
      return {
        status: send(response, requestId, { ...reply, headers: { ...headers, ...reply.headers } }),
        code: problem.code,
      }
    },
  }
}

function send(response: ServerResponse, requestId: string, { status, headers, body }: AdapterReply): number {
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
  response.writeHead(status, { ...headers, ...length, 'Cache-Control': 'no-store', 'X-Request-Id': requestId })
  response.end(body)
  return status
}

const unsupportedMediaType = (mediaTypes: readonly string[]) =>
  new ServiceError(415, 'unsupported_media_type', `Send the report as ${mediaTypes.join(' or ')}.`)
