import { z } from 'zod'
import type { HandedOutJob } from '#fleet/job-delivery'
import { reportJob } from '#fleet/job-delivery'
import { reportedStatuses } from '#fleet/job-states'
import type { Keyring } from '#fleet/keyring'
import { revealSettings } from '#fleet/profile-secrets'
import type { Pool } from '#postgres/pool'
import type { EdgeRoute } from '../app.ts'
import { admitDevice, answerJson, type EdgeCallParts, parseInput, readJson, refuseDisabled } from '../edge-call.ts'
import type { Mailbox } from './mailbox.ts'

export type JobRouteParts = EdgeCallParts & { pool: Pool; keyring: Keyring; mailbox: Mailbox }

const nextQuery = z.strictObject({ waitSeconds: z.coerce.number().int().min(0).max(55).default(0) })

const maxDetailBytes = 32 * 1_024

const statusReport = z.strictObject({
  attempt: z.int().min(1),
  status: z.enum(reportedStatuses),
  progress: z.number().min(0).max(100).transform(Math.round).optional(),
  /** A sentence, or figures: what a speed test measured, where diagnostics lie. */
  detail: z
    .union([z.string().max(2_000), z.record(z.string(), z.json())])
    .refine((detail) => Buffer.byteLength(JSON.stringify(detail)) <= maxDetailBytes, {
      message: `The detail may take ${maxDetailBytes} bytes as JSON.`,
    })
    .optional(),
})

/** The job channel: how a router learns of its jobs and says what became of them. */
export const jobRoutes = (parts: JobRouteParts): EdgeRoute[] => [
  {
    method: 'GET',
    path: '/device/jobs/next',
    handle: async (request, { incoming }) => {
      const grant = await admitDevice(parts, incoming)
      const query = Object.fromEntries(new URL(request.url).searchParams)
      const { waitSeconds } = parseInput(nextQuery, query)
      refuseDisabled(grant)
      // Its socket, not `request.signal`: that makes a whole Request, which ten thousand waiting devices would hold.
      const job = await parts.mailbox.next(grant, waitSeconds * 1_000, incoming.socket)
      if (!job) return new Response(null, { status: 204 })
      return answerJson(await deliverable(parts, grant.organizationId, job))
    },
  },
  {
    method: 'POST',
    path: '/device/jobs/:id/status',
    handle: async (request, { incoming, parameters }) => {
      const grant = await admitDevice(parts, incoming)
      const report = await readJson(request, statusReport)
      refuseDisabled(grant)
      return answerJson(await reportJob(parts.pool, grant, parameters.id ?? '', report, parts.clock()))
    },
  },
]

/** The job as the device gets it; apply_config carries its profile, whose secrets are decrypted here and nowhere else. */
async function deliverable(
  parts: JobRouteParts,
  organizationId: string,
  { profile, ...job }: HandedOutJob,
): Promise<unknown> {
  if (job.kind !== 'apply_config' || !profile) return job
  const settings = await revealSettings(parts, { organizationId, profileId: profile.id, version: profile.version })
  return { ...job, parameters: { profile: { ...profile, settings: settings ?? {} } } }
}
