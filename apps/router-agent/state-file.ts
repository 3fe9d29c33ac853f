import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const finalReport = z.object({
  status: z.enum(['succeeded', 'failed', 'rejected']),
  /** A sentence, or figures by name. */
  detail: z.union([z.string(), z.record(z.string(), z.union([z.string(), z.number(), z.null()]))]).optional(),
})

const jobRecord = z.object({
  id: z.string(),
  attempt: z.number(),
  kind: z.string(),
  /** restarting: the effect is done and the restart is what is left of the job. */
  phase: z.enum(['running', 'restarting', 'done']),
  report: finalReport.optional(),
  reported: z.boolean(),
})

const agentState = z.object({
  deviceId: z.string().optional(),
  token: z.string().optional(),
  firmware: z.string(),
  /** Why the next start happens; set just before a wanted restart, taken off after it. */
  restartReason: z.string().optional(),
  profile: z.object({ id: z.string(), version: z.number() }).optional(),
  /** The newest work, oldest first: what was done once is not done again. */
  jobs: z.array(jobRecord),
})

export type AgentState = z.infer<typeof agentState>
export type JobRecord = z.infer<typeof jobRecord>
export type FinalReport = z.infer<typeof finalReport>

export type StateFile = {
  read: () => AgentState
  /** Changes some members and returns once the file is in place. Writes follow each other in the order of the calls. */
  update: (change: Partial<AgentState>) => Promise<void>
}

/**
 * The few facts that must outlive the process, in `<folder>/state.json` (mode 0600: it holds the device token).
 * Throws when the file is there and cannot be understood: enrolling anew over it would lose the router's identity.
 */
export async function openStateFile(folder: string, factoryFirmware: string): Promise<StateFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, 'state.json')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  let state: AgentState =
    text === undefined ? { firmware: factoryFirmware, jobs: [] } : agentState.parse(JSON.parse(text))
  let lastWrite = Promise.resolve()

  async function write(): Promise<void> {
    await writeFile(`${file}.part`, JSON.stringify(state), { mode: 0o600, flush: true })
    await rename(`${file}.part`, file)
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
