import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isCode, replaceFile } from '#files/durable-file'

const finalReport = z.object({
  status: z.enum(['succeeded', 'failed', 'rejected']),
  /** The reason of a failure, for programs. */
  code: z.string().optional(),
  /** A sentence, or values by name. */
  detail: z.union([z.string(), z.record(z.string(), z.union([z.string(), z.number(), z.null()]))]).optional(),
})

const jobRecord = z.object({
  id: z.string(),
  attempt: z.number(),
  kind: z.string(),
  /** `restarting`: only the restart remains of the job. */
  phase: z.enum(['running', 'restarting', 'done']),
  report: finalReport.optional(),
  reported: z.boolean(),
  /** The service has accepted the report of this job's roll-back, so that a later attempt is the decision of a person. */
  isRollBackKnown: z.boolean().optional(),
})

const installedProfile = z.object({
  id: z.string(),
  version: z.number(),
  /** RFC 6901 pointers of the secret values in the settings, and the digest of the settings without them. */
  secrets: z.array(z.string()).optional(),
  digest: z.string().optional(),
})

/** A profile that was applied, until the service was reached with it. */
const profileTrial = z.object({
  job: z.object({ id: z.string(), attempt: z.number() }),
  /** The profile before, and whether there was a config file. */
  previous: installedProfile.optional(),
  hasPrevious: z.boolean(),
  /** How long the agent has waited for contact. */
  waitedMs: z.number(),
  /** The roll-back was decided, and may be incomplete. */
  isRestoring: z.boolean(),
})

const agentState = z.object({
  deviceId: z.string().optional(),
  /** An empty token is none. */
  token: z
    .string()
    .transform((token) => token.trim() || undefined)
    .optional(),
  /** Random text that identifies the enrollment of this router, so that it can be repeated if its response is lost. */
  enrollmentNonce: z.string().optional(),
  firmware: z.string(),
  /** The reason of the next start. Set before a requested restart and removed after it. */
  restartReason: z.string().optional(),
  profile: installedProfile.optional(),
  trial: profileTrial.optional(),
  /** The most recent jobs, oldest first, to prevent running a job twice. */
  jobs: z.array(jobRecord),
})

type AgentState = z.infer<typeof agentState>
export type JobRecord = z.infer<typeof jobRecord>
export type FinalReport = z.infer<typeof finalReport>
export type InstalledProfile = z.infer<typeof installedProfile>

/** The code of a job whose profile was taken back because the service could not be reached with it. */
export const rolledBackCode = 'rolled_back'

/** The report of a job during which the router restarted without a request to do so. */
export const interrupted = (): FinalReport => ({
  status: 'failed',
  detail: 'The router restarted before the job was finished.',
})

export type AgentStateFile = {
  read: () => AgentState
  /** Changes some members. Resolves when the file is written. Writes happen in the order of the calls. */
  update: (change: Partial<AgentState>) => Promise<void>
}

/**
 * Opens the persistent state in `<folder>/state.json` (mode 0600, because it contains the device token). Throws when the
 * file is invalid or cannot be read: a new one would lose the identity of the router, and run its jobs again.
 */
export async function openStateFile(folder: string, factoryFirmware: string): Promise<AgentStateFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, 'state.json')
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (!isCode(error, 'ENOENT')) throw error
    return undefined
  })
  let state: AgentState =
    text === undefined ? { firmware: factoryFirmware, jobs: [] } : agentState.parse(JSON.parse(text))
  let lastWrite = Promise.resolve()

  async function write(): Promise<void> {
    await replaceFile(file, JSON.stringify(state))
  }
  return {
    read: () => state,
    update(change) {
      state = { ...state, ...change }
      lastWrite = lastWrite.catch(() => undefined).then(write)
      return lastWrite
    },
  }
}
