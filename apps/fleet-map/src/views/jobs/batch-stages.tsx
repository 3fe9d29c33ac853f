import type { JobBatch } from '../../api/schemas.ts'
import { dayAndTime, plural } from '../../components/format.ts'
import { ProgressBar } from './batch-progress.tsx'
import css from './jobs.module.css'

const stageLabel: Record<JobBatch['stages'][number]['status'], string> = {
  waiting: 'Waiting',
  running: 'Running',
  finished: 'Finished',
  stopped: 'Stopped',
}

const noJobs = {
  queued: 0,
  dispatched: 0,
  inProgress: 0,
  succeeded: 0,
  failed: 0,
  timedOut: 0,
  cancelled: 0,
  expired: 0,
  rejected: 0,
}

/** The stages of a rollout with their states and counts. Nothing for a batch without stages. */
export function BatchStages({ batch }: { batch: JobBatch }) {
  if (batch.stages.length === 0) return null
  return (
    <ol class={css.stages} aria-label="Stages">
      {batch.stages.map((stage, index) => (
        <li key={index} class={`card ${css.stage} ${css[stage.status] ?? ''}`}>
          <span class={css.stageHead}>
            <strong>
              Stage {index + 1}
              {index === 0 && batch.rollout?.canary ? ' (canary)' : ''}
            </strong>
            <span class="chip">
              {stage.status === 'running' && batch.status === 'paused' ? 'Paused' : stageLabel[stage.status]}
            </span>
          </span>
          <span class="label">
            {plural(stage.devices, 'device')}
            {timeOf(batch, index)}
          </span>
          <ProgressBar batch={{ total: stage.devices, counts: { ...noJobs, ...stage.counts } }} />
        </li>
      ))}
    </ol>
  )
}

/** When a stage ended or started; for the next one, when it starts. */
function timeOf({ stages, rollout, status }: JobBatch, index: number): string {
  const { startedAt, endedAt } = stages[index] ?? {}
  if (endedAt) return `, ended ${dayAndTime(Date.parse(endedAt))}`
  if (startedAt) return `, started ${dayAndTime(Date.parse(startedAt))}`
  const before = stages[index - 1]?.endedAt
  if (!before || status !== 'running' || rollout?.stageWaitMinutes === undefined) return ''
  return `, starts ${dayAndTime(Date.parse(before) + rollout.stageWaitMinutes * 60_000)}`
}
