import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Tracing } from '#core/tracing'
import { nextJobPath, nextJobQuery } from '#device-edge/contract'
import { revealSettings } from '#fleet/config-profiles/delivered'
import type { Keyring } from '#fleet/crypto/keyring'
import type { HandedOutJob } from '#fleet/jobs/delivery'
import { deviceTokenRefused } from '#http/device-credentials'
import type { HttpMetrics } from '#http/metrics'
import { type Logger, logRequest } from '#http/request-log'
import type { FairPool } from '#postgres/fair-pool'
import {
  type AdmissionParts,
  admitDevice,
  hasOwnToken,
  parseQuery,
  refuseDisabled,
  refuseNeedlessGateway,
} from '../access/admission.ts'
import type { DeviceGrant } from '../access/device-grants.ts'
import { answer, answerProblem, type NodeRoute, requestIdOf } from '../http/node-response.ts'
import { toServiceError } from '../http/to-service-error.ts'
import type { Mailbox } from './mailbox.ts'

export type NextJobParts = AdmissionParts & {
  pools: FairPool
  keyring: Keyring
  mailbox: Mailbox
  metrics: HttpMetrics
  logger: Logger
  tracing: Tracing | undefined
}

/**
 * Creates the route of `GET /device/jobs/next`, on node:http: ten thousand routers wait in it at a time, and each holds
 * its request objects while it waits.
 */
export function createNextJobRoute(parts: NextJobParts): NodeRoute {
  const { mailbox, metrics, logger } = parts
  const admit = async (request: IncomingMessage) => {
    const { grant, receivedAtMs } = await admitDevice(parts, request)
    const { waitSeconds } = parseQuery(nextJobQuery, new URL(request.url ?? '', 'http://edge').searchParams)
    refuseDisabled(grant)
    refuseNeedlessGateway(grant, receivedAtMs)
    return { grant, waitMs: waitSeconds * 1_000 }
  }
  return async (request, response) => {
    const startedMs = performance.now()
    const requestId = requestIdOf(request)
    const observe = (status: number) => {
      const observed = { method: 'GET', route: nextJobPath, status, durationMs: performance.now() - startedMs }
      metrics.observe(observed)
      logRequest(logger, { requestId, ...observed })
    }
    try {
      const { grant, waitMs } = await admit(request)
      releaseHead(request)
      const job = await mailbox.next(grant, waitMs, isGoneOrRefused(parts, grant, request.socket))
      if (!job) refuseRevoked(parts, grant)
      const span = job && beginDelivery(parts.tracing, grant, job)
      const body = job && (await deliverable(parts, grant.organizationId, job))
      const status = body ? 200 : 204
      answer(response, status, requestId, body)
      span?.end()
      observe(status)
    } catch (error) {
      observe(answerProblem(response, toServiceError(error, requestId, logger), requestId).status)
    }
  }
}

/** Begins the span of the delivery, for a job that belongs to a trace. */
const beginDelivery = (tracing: Tracing | undefined, { deviceId }: DeviceGrant, { id, traceparent }: HandedOutJob) =>
  traceparent === null
    ? undefined
    : tracing?.begin(`GET ${nextJobPath}`, {
        kind: 'server',
        parent: traceparent,
        attributes: { 'http.route': nextJobPath, 'device.id': deviceId, 'job.id': id },
      })

type AccessParts = Pick<AdmissionParts, 'access' | 'clock'>

/**
 * A waiting router can disconnect, lose its token or be disabled, and a device for which a gateway waits can get a token of
 * its own. The request must then not receive a job.
 */
const isGoneOrRefused =
  ({ access, clock }: AccessParts, grant: DeviceGrant, socket: Socket) =>
  () => {
    const current = access.current(grant)
    return socket.destroyed || !current || current.disabled || hasOwnToken(current, clock())
  }

function refuseRevoked({ access, clock }: AccessParts, grant: DeviceGrant): void {
  const current = access.current(grant)
  if (!current) throw deviceTokenRefused()
  refuseDisabled(current)
  refuseNeedlessGateway(current, clock())
}

const noHeaders = Object.freeze({})
const noRawHeaders: string[] = []

/** Releases the request head, which with a proxy's headers takes most of the memory of a waiting request. */
function releaseHead(request: IncomingMessage): void {
  request.headers = noHeaders
  request.rawHeaders = noRawHeaders
  request.url = ''
}

/**
 * Returns the job as sent to the device. `apply_config` contains its profile with decrypted secrets. Undefined if the version
 * of the profile was deleted after the job was taken: the next request then rejects the job.
 */
async function deliverable(
  parts: NextJobParts,
  organizationId: string,
  { profile, variables, traceparent: _traceparent, ...job }: HandedOutJob,
): Promise<object | undefined> {
  if (job.kind !== 'apply_config') return job
  const pool = parts.pools.of(`org:${organizationId}`)
  const delivered =
    profile &&
    (await revealSettings(
      { ...parts, pool },
      { organizationId, profileId: profile.id, version: profile.version, variables },
    ))
  return delivered ? { ...job, parameters: { profile: { ...profile, ...delivered } } } : undefined
}
