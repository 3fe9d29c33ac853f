import type { EdgeClient } from '../edge-client.ts'
import type { Log } from '../log.ts'
import type { BufferFigures } from '../sample-buffer.ts'
import type { FinalReport, StateFile } from '../state-file.ts'

export type Job = {
  id: string
  kind: string
  attempt: number
  parameters: Record<string, unknown>
  cancelRequested: boolean
}

/** What an action may use. `progress` reports a percentage and says whether the job was called off meanwhile. */
export type ActionTools = {
  edge: EdgeClient
  token: string
  folder: string
  state: StateFile
  log: Log
  uptimeS: () => number
  bufferFigures: () => BufferFigures
  progress: (percent: number) => Promise<{ cancelRequested: boolean }>
}

/** An action ends with a report, or asks for the restart that completes it; then `report` is sent after the boot. */
export type Outcome = FinalReport & { restart?: { reason: string; firmware?: string } }

export type Action = (job: Job, tools: ActionTools) => Promise<Outcome>

export const succeeded = (detail: FinalReport['detail']): Outcome => ({ status: 'succeeded', detail })
export const failed = (detail: string): Outcome => ({ status: 'failed', detail })
export const rejected = (detail: string): Outcome => ({ status: 'rejected', detail })
