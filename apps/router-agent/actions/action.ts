import type { Dispatcher } from 'undici'
import type { EdgeClient } from '../edge-client.ts'
import type { Log } from '../log.ts'
import type { ProfileTrial } from '../profile/profile-trial.ts'
import type { BufferFigures } from '../sample-buffer.ts'
import type { AgentStateFile, FinalReport } from '../state-file.ts'

export type ReceivedJob = {
  id: string
  kind: string
  attempt: number
  parameters: Record<string, unknown>
  cancelRequested: boolean
}

/** The dependencies of an action. `progress` reports a percentage and returns whether the job was cancelled meanwhile. */
export type ActionTools = {
  edge: EdgeClient
  token: string
  folder: string
  /** How firmware images are downloaded; by default, as any https request. */
  images?: Dispatcher | undefined
  state: AgentStateFile
  trial: ProfileTrial
  log: Log
  uptimeS: () => number
  bufferFigures: () => BufferFigures
  progress: (percent: number) => Promise<{ cancelRequested: boolean }>
}

/** The result of an action: a report, and optionally the restart that completes it. Then the report is sent after the boot. */
export type ActionOutcome = FinalReport & { restart?: { reason: string; firmware?: string } }

export type Action = (job: ReceivedJob, tools: ActionTools) => Promise<ActionOutcome>

export const succeeded = (detail: FinalReport['detail']): ActionOutcome => ({ status: 'succeeded', detail })
export const failed = (detail: string): ActionOutcome => ({ status: 'failed', detail })
export const rejected = (detail: string): ActionOutcome => ({ status: 'rejected', detail })
