import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { z } from 'zod'
import { revealSettings } from '#fleet/config-profiles/secrets'
import type { Keyring } from '#fleet/crypto/keyring'
import type { HandedOutJob } from '#fleet/jobs/delivery'
import { deviceTokenRefused } from '#http/device-credentials'
import type { HttpMetrics } from '#http/metrics'
import { type Logger, logRequest } from '#http/request-log'
import type { Pool } from '#postgres/pool'
import type { DeviceAccess } from '../access/device-access.ts'
import type { DeviceGrant } from '../access/device-grants.ts'
import { admitDevice, type EdgeCallParts, parseInput, refuseDisabled } from '../access/edge-call.ts'
import { answer, answerProblem, requestIdOf, type StraightRoute } from '../report/node-response.ts'
import { shownError } from '../to-service-error.ts'
import type { Mailbox } from './mailbox.ts'

export type NextJobParts = EdgeCallParts & {
  pool: Pool
  keyring: Keyring
  mailbox: Mailbox
  metrics: HttpMetrics
  logger: Logger
}

export const nextJobPath = '/device/jobs/next'

const nextQuery = z.strictObject({ waitSeconds: z.coerce.number().int().min(0).max(55).default(0) })

/**
 * `GET /device/jobs/next`, straight on node:http: ten thousand routers wait in it at a time, and each holds what its
 * request is made of for as long as it waits.
 */
export function createNextJobRoute(parts: NextJobParts): StraightRoute {
  const { mailbox, metrics, logger } = parts
  const asking = async (request: IncomingMessage) => {
    const grant = await admitDevice(parts, request)
    const query = Object.fromEntries(new URL(request.url ?? '', 'http://edge').searchParams)
    const { waitSeconds } = parseInput(nextQuery, query)
    refuseDisabled(grant)
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
      const { grant, waitMs } = await asking(request)
      forgetHead(request)
      const job = await mailbox.next(grant, waitMs, goneOnce(parts.access, grant, request.socket))
      if (!job) refuseLapsed(parts.access, grant)
      const body = job && (await deliverable(parts, grant.organizationId, job))
      answer(response, job ? 200 : 204, requestId, body)
      observe(job ? 200 : 204)
    } catch (error) {
      observe(answerProblem(response, shownError(error, requestId, logger), requestId).status)
    }
  }
}

/** A router that waits can lose its token or be disabled meanwhile; what comes then is not for it any more. */
const goneOnce = (access: DeviceAccess, grant: DeviceGrant, socket: Socket) => () =>
  socket.destroyed || access.current(grant)?.disabled !== false

function refuseLapsed(access: DeviceAccess, grant: DeviceGrant): void {
  const current = access.current(grant)
  if (!current) throw deviceTokenRefused()
  refuseDisabled(current)
}

const nothing = Object.freeze({})
const none: string[] = []

/** Lets go of what nobody asks for any more: with a proxy's headers, more than all that waiting takes beside it. */
function forgetHead(request: IncomingMessage): void {
  request.headers = nothing
  request.rawHeaders = none
  request.url = ''
}

/** The job as the device gets it; apply_config carries its profile, whose secrets are decrypted here and nowhere else. */
async function deliverable(
  parts: NextJobParts,
  organizationId: string,
  { profile, ...job }: HandedOutJob,
): Promise<unknown> {
  if (job.kind !== 'apply_config' || !profile) return job
  const settings = await revealSettings(parts, { organizationId, profileId: profile.id, version: profile.version })
  return { ...job, parameters: { profile: { ...profile, settings: settings ?? {} } } }
}
